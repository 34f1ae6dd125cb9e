import { closeSync, constants, mkdtempSync, openSync, readFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Environment } from "../command-line/config.ts";
import { removeOwnedNow } from "../base/disk/change-disk.ts";
import { ownCommand } from "../engines/own-command.ts";
import { envName } from "../command-line/flags.ts";

/**
 * A join token lets further nodes in, so the program beside the worker must not learn it. What a process was started with stands
 * in `/proc/PID/environ` and `/proc/PID/cmdline` for every process of its user as long as it lives, whatever it does to its
 * variables. So a worker that was given a token that way writes it into a file that its owner alone may read, starts itself
 * anew in the same process without it, and reads and removes the file before anything else runs.
 */
const TOKEN = envName("token");
/** Where the file is; in the environment of the second start. */
const PASSED = "TIDEMARK_TOKEN_PASSED";

const IS_SHOWN =
  "The program can read the join token in the environment of this worker. Take it out of there once the node has joined, or use TIDEMARK_TOKEN_FILE.";

/** Returns the arguments without `--token`, and what it said; what follows `--` is a program's. */
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
 * Starts this process anew when its environment or its command line has a token. Otherwise returns null; or, where that cannot
 * be done, what to say about it.
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

/** Returns where the file is; null where there is no folder for it. In memory where the machine has such a folder. */
function writeToken(token: string): string | null {
  for (const parent of ["/dev/shm", tmpdir()]) {
    try {
      const path = join(mkdtempSync(join(parent, "tidemark-join-")), "token");
      const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
      const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      writeSync(file, token);
      closeSync(file);
      return path;
    } catch {
      // The next one.
    }
  }
  return null;
}

/** Returns the environment with the token that the first start passed on. The file is removed. */
export function takeToken(env: Environment): Environment {
  const { [PASSED]: path = "", ...rest } = env;
  if (path === "") return env;
  try {
    return { ...rest, [TOKEN]: readFileSync(path, "utf8") };
  } catch {
    // A process of this environment has read it before.
    return rest;
  } finally {
    removeOwnedNow("scratch", dirname(path));
  }
}
