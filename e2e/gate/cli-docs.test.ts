import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./run-step.ts";

test("docs/cli.md says what the command line says (node worker/main.ts help --markdown > docs/cli.md)", () => {
  const said = execFileSync(process.execPath, ["worker/main.ts", "help", "--markdown"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(readFileSync(join(ROOT, "docs/cli.md"), "utf8")).toBe(said);
});
