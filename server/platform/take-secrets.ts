import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";

/**
 * Removes secrets from the environment of this process. The kernel shows other processes of the user the initial environment
 * (`/proc/PID/environ`), even after `process.env` changes, so that memory is overwritten as well.
 */

/** Indexes of env_start and env_end in /proc/self/stat, counted behind the process name (proc_pid_stat(5)). */
const ENV_START = 47;
const ENV_END = 48;

/** Returns the address and length of the initial environment in memory. */
function placeOfEnvironment(): { start: number; length: number } {
  const stat = readFileSync("/proc/self/stat", "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [start, end] = [Number(fields[ENV_START]), Number(fields[ENV_END])];
  return { start, length: end - start };
}

/** Overwrites the values of these variables in memory. @throws Error where the system forbids reading or writing it */
function overwrite(names: ReadonlySet<string>): void {
  const { start, length } = placeOfEnvironment();
  const memory = openSync("/proc/self/mem", "r+");
  try {
    const bytes = Buffer.alloc(length);
    readSync(memory, bytes, 0, length, start);
    let at = 0;
    for (const entry of bytes.toString("latin1").split("\0")) {
      const name = entry.slice(0, entry.indexOf("="));
      const valueAt = at + name.length + 1;
      const left = at + entry.length - valueAt;
      if (left > 0 && names.has(name)) writeSync(memory, Buffer.alloc(left), 0, left, start + valueAt);
      at += entry.length + 1;
    }
  } finally {
    closeSync(memory);
  }
}

export interface TakenSecrets {
  /** The values that are set and not empty. */
  values: Readonly<Record<string, string>>;
  /** False if other processes of this user can still read them. */
  isHidden: boolean;
}

/** Returns the values of these variables and removes them from `process.env` and from `/proc`. */
export function takeSecrets(names: readonly string[]): TakenSecrets {
  const values: Record<string, string> = {};
  for (const name of names) {
    const value = process.env[name];
    if (value !== undefined && value !== "") values[name] = value;
    delete process.env[name];
  }
  if (process.platform !== "linux" || Object.keys(values).length === 0) return { values, isHidden: true };
  try {
    overwrite(new Set(names));
    const shown = readFileSync("/proc/self/environ");
    return { values, isHidden: !Object.values(values).some((value) => shown.includes(value)) };
  } catch {
    return { values, isHidden: false };
  }
}
