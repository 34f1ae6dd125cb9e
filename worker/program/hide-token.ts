import { closeSync, constants, lstatSync, mkdtempSync, openSync, readFileSync, readdirSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Environment } from "../base/environment.ts";
import { removeOwnedNow } from "../base/disk/change-disk.ts";
import { ownCommand } from "../engines/own-command.ts";
import { envName } from "../command-line/flags.ts";

/**
 * Hides the join token from the program, because the token admits further nodes. Every process of the same user can read the
 * initial environment and command line in `/proc/PID`, even after a process has changed them. So a worker with a token there
 * writes it to a file that only its owner may read, and executes itself again (execve) without it. The new image reads and
 * removes the file before anything else runs.
 */
const TOKEN = envName("token");
/** Variable with the path of the file, for the second start. */
const PASSED = "TIDEMARK_TOKEN_PASSED";

const IS_SHOWN =
  "The program can read the join token in the environment of this worker. Take it out of there once the node has joined, or use TIDEMARK_TOKEN_FILE.";

/** Returns the arguments without `--token`, and its value. Arguments after `--` are the program's and stay. */
export function withoutToken(args: readonly string[]): { args: string[]; token: string | null } {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const kept: string[] = [];
  let token: string | null = null;
  for (let at = 0; at < end; at++) {
    const arg = args[at] ?? "";
    if (arg === "--token" && at + 1 < end) token = args[++at] ?? null;
    else if (arg.startsWith("--token=")) token = arg.slice("--token=".length);
    else kept.push(arg);
  }
  return { args: [...kept, ...args.slice(end)], token };
}

/**
 * Executes this program again when its environment or command line has a token, and then does not return. Returns null
 * without a token, or a warning where the token cannot be hidden.
 */
export function hideToken(env: Environment, given: readonly string[]): string | null {
  const { args, token: flag } = withoutToken(given);
  const { [TOKEN]: variable = "", ...rest } = env;
  const token = flag ?? variable;
  if (flag === null && variable === "") return null;
  const path = process.execve === undefined ? null : writeToken(token);
  if (process.execve === undefined || path === null) return IS_SHOWN;
  const [program = process.execPath, ...before] = ownCommand();
  const anew: Environment = { ...rest, [PASSED]: path };
  return process.execve(program, [program, ...before, ...args], anew as NodeJS.ProcessEnv) ?? null;
}

const PREFIX = "tidemark-join-";

/** Writes the token into a file, in memory (/dev/shm) if possible. Returns its path; null where no folder is writable. */
function writeToken(token: string): string | null {
  for (const parent of ["/dev/shm", tmpdir()]) {
    try {
      removeLeft(parent);
      const path = join(mkdtempSync(join(parent, PREFIX)), "token");
      const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
      const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      writeSync(file, token);
      closeSync(file);
      return path;
    } catch {
      // Tries the next folder.
    }
  }
  return null;
}

/** Time in which a first start has long been followed by the second one, which removes the file. */
const LEFT_AFTER_MS = 60_000;

/** Removes files of this user whose processes were killed between the first start and the second. */
export function removeLeft(parent: string): void {
  for (const name of readdirSync(parent).filter((one) => one.startsWith(PREFIX))) {
    const path = join(parent, name);
    try {
      const { uid, mtimeMs } = lstatSync(path);
      if (uid === process.getuid?.() && Date.now() - mtimeMs > LEFT_AFTER_MS) removeOwnedNow("scratch", path);
    } catch {
      // Another start has removed it.
    }
  }
}

/** Returns the environment for another process of this worker, which finds the token with `takeToken`. */
export function passToken(env: Environment): Environment {
  const { [TOKEN]: token = "", ...rest } = env;
  const path = token === "" ? null : writeToken(token);
  return path === null ? env : { ...rest, [PASSED]: path };
}

/** Returns the environment with the token that the first start passed on, and removes the file. */
export function takeToken(env: Environment): Environment {
  const { [PASSED]: path = "", ...rest } = env;
  if (path === "") return env;
  try {
    return { ...rest, [TOKEN]: readFileSync(path, "utf8") };
  } catch {
    // Another process with this environment has already read and removed the file.
    return rest;
  } finally {
    removeOwnedNow("scratch", dirname(path));
  }
}
