import { copyFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "../gate/build.ts";
import { ROOT } from "../stage/start-process.ts";

/** The worker's one file as it is now, in a folder of its own: hours of trials must not see it being built anew. */
export async function bundleProgram(): Promise<string> {
  await build("dist/tidemark.mjs");
  const program = join(mkdtempSync(join(tmpdir(), "tidemark-program-")), "tidemark.mjs");
  copyFileSync(join(ROOT, "dist/tidemark.mjs"), program);
  return program;
}
