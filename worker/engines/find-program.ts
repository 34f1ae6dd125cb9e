import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { plainEnvironment } from "./base-environment.ts";
import type { Found, Where } from "./driver.ts";
import { ownCommand } from "./own-command.ts";

/** Time limit for a program to print its version. */
const LONGEST_MS = 30_000;
const run = promisify(execFile);

const USUAL_PATH = "/usr/local/bin:/usr/bin:/bin";

/** Returns how engines are found on this machine. */
export const whereOf = (platform: { searchPath: string | null; passedOn: Where["passedOn"] }): Where => ({
  searchPath: platform.searchPath ?? USUAL_PATH,
  passedOn: platform.passedOn,
  self: ownCommand(),
});

/** Returns the path of the first of these names that is executable in the search path, or null. */
export async function findOnPath(names: readonly string[], searchPath: string): Promise<string | null> {
  for (const name of names) {
    for (const folder of searchPath.split(delimiter).filter(isAbsolute)) {
      const path = join(folder, name);
      const isThere = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isThere) return path;
    }
  }
  return null;
}

export interface Sought {
  names: readonly string[];
  /** Arguments that make it print its version. */
  args: readonly string[];
  /** Returns the version in its output; null when the output is that of another program. */
  read(said: string): string | null;
  /** How a user installs it. */
  hint: string;
}

/** Finds a program and asks for its version. Never throws. */
export async function findProgram(sought: Sought, where: Where): Promise<Found> {
  const [name] = sought.names;
  const program = await findOnPath(sought.names, where.searchPath);
  if (program === null) return { missing: `there is no ${name} on the PATH: ${sought.hint}` };
  try {
    const env = plainEnvironment(where, tmpdir()) as NodeJS.ProcessEnv;
    const { stdout } = await run(program, [...sought.args], { env, timeout: LONGEST_MS, killSignal: "SIGKILL" });
    const version = sought.read(stdout.trim());
    return version === null ? { missing: `${program} is something else: ${sought.hint}` } : { program, version, where };
  } catch {
    return { missing: `${program} does not start or lacks what it needs: ${sought.hint}` };
  }
}

/** Makes a reader that returns the first group of a pattern; null without a match. */
export const reading =
  (pattern: RegExp) =>
  (said: string): string | null =>
    pattern.exec(said)?.[1] ?? null;
