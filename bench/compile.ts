import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { BenchError } from "./bench-error.ts";

/** The repository, and where programs that the benchmarks make for themselves are kept. */
export const ROOT = join(import.meta.dirname, "..");
export const MADE = join(ROOT, ".tools/bench");
const run = promisify(execFile);

/**
 * Compiles one C file of `bench/` unless that was done for the same text.
 * @returns the program's path
 * @throws BenchError when there is no C compiler, or it refuses
 */
export async function compile(name: string, source: string): Promise<string> {
  const file = join(import.meta.dirname, source);
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
    throw new BenchError(
      `${source} could not be compiled: it needs a C compiler called "cc" (Debian: apt-get install gcc libc6-dev).`,
      error,
    );
  }
  await rename(fresh, program);
  await writeFile(stamp, digest);
  return program;
}
