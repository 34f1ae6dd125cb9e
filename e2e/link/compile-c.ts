import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../stage/start-process.ts";
import { CannotRun } from "./cannot-run.ts";

/** Where programs that benchmarks and trials make for themselves are kept. */
export const MADE = join(ROOT, ".tools/bench");
const run = promisify(execFile);

/**
 * Compiles one C file unless that was done for the same text.
 * @param file absolute
 * @returns the program's path
 * @throws CannotRun when there is no C compiler, or it refuses
 */
export async function compileC(name: string, file: string): Promise<string> {
  const digest = createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
  const program = join(MADE, name);
  const stamp = `${program}.made-from`;
  if (existsSync(program) && (await readFile(stamp, "utf8").catch(() => "")) === digest) return program;
  await mkdir(MADE, { recursive: true });
  const fresh = `${program}.${process.pid}`;
  try {
    await run("cc", ["-O2", "-pthread", "-o", fresh, file]);
  } catch (error) {
    throw new CannotRun(
      `${basename(file)} could not be compiled: it needs a C compiler called "cc" (Debian: apt-get install gcc libc6-dev).`,
      error,
    );
  }
  await rename(fresh, program);
  await writeFile(stamp, digest);
  return program;
}
