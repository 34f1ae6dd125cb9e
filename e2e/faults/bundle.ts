import { constants, copyFileSync, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "../gate/build.ts";
import { ROOT } from "../stage/start-process.ts";

const SCRIPT = "tidemark.mjs";
const EXECUTABLE = "tidemark";

/**
 * The worker as it is now, in a folder of its own: hours of trials must not see it being built anew. Returns the path of its one
 * file for Node; on Linux the executable lies beside it.
 */
export async function bundleProgram(): Promise<string> {
  await build("dist/tidemark.mjs");
  const folder = mkdtempSync(join(tmpdir(), "tidemark-program-"));
  for (const name of [SCRIPT, EXECUTABLE]) {
    const from = join(ROOT, "dist", name);
    if (existsSync(from)) copyFileSync(from, join(folder, name), constants.COPYFILE_FICLONE);
  }
  return join(folder, SCRIPT);
}

/** What sends straight from the disk and sums with code of its own; the script itself where there is none. */
export function executableBeside(script: string): string {
  const executable = join(dirname(script), EXECUTABLE);
  return existsSync(executable) ? executable : script;
}
