import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { envName, flagEntries } from "./flags.ts";
import { unknownVariables, unknownVariablesWarning } from "./unknown-variables.ts";

const named = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, "1"]));

test("a variable that nothing reads is told with the one that was meant", () => {
  expect(unknownVariables({ TIDEMARK_PART_SISE: "8MiB", TIDEMARK_TOKN_FILE: "/x", TIDEMARK_ZZZZZZ: "" })).toEqual([
    { name: "TIDEMARK_PART_SISE", meant: "TIDEMARK_PART_SIZE" },
    { name: "TIDEMARK_TOKN_FILE", meant: "TIDEMARK_TOKEN_FILE" },
    { name: "TIDEMARK_ZZZZZZ", meant: null },
  ]);
  expect(unknownVariablesWarning({ TIDEMARK_PART_SISE: "8MiB" })).toBe(
    "Nothing reads TIDEMARK_PART_SISE (did you mean TIDEMARK_PART_SIZE?).",
  );
});

test("a name with the rest of its line in an env file is told with the one that was meant", () => {
  expect(
    unknownVariablesWarning(named(["export TIDEMARK_TO", "\ufeffAWS_REGION", "TIDEMARK_HUB ", "export PATH"])),
  ).toBe(
    'Nothing reads "TIDEMARK_HUB " (did you mean TIDEMARK_HUB?), "export TIDEMARK_TO" (did you mean TIDEMARK_TO?), "\\ufeffAWS_REGION" (did you mean AWS_REGION?).',
  );
});

test("what flags, programs, the hub, the store and other people's tools read is not", () => {
  const flags = flagEntries.filter(([, { onlyFlag }]) => onlyFlag !== true).map(([name]) => envName(name));
  expect(unknownVariablesWarning(named([...flags, "TIDEMARK_TOKEN_FILE", "AWS_REGION", "PATH"]))).toBeNull();
  const kubernetes = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT_8080_TCP", "PORT_8080_TCP_ADDR"];
  expect(unknownVariables(named(kubernetes.map((end) => `TIDEMARK_HUB_${end}`)))).toEqual([]);
});

test("nor is anything that the sources of the product name", () => {
  const root = join(import.meta.dirname, "../..");
  const files = globSync("{server,store,demo,clients,worker}/**/*.{ts,py}", { cwd: root });
  const texts = files
    .filter((file) => !file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(root, file), "utf8"));
  expect(files.length).toBeGreaterThan(500);
  const names = texts.flatMap((text) => text.match(/\bTIDEMARK_[A-Z][A-Z_]*[A-Z]\b/g) ?? []);
  expect(names).toContain("TIDEMARK_SECRET");
  const said = new Set(["TIDEMARK_PART_SISE"]);
  expect(unknownVariables(named(names)).filter(({ name }) => !said.has(name))).toEqual([]);
});
