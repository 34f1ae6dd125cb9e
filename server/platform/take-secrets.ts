import { closeSync, openSync, readFileSync, readSync, writeSync } from "node:fs";

/**
 * Takes secrets out of the environment of this process. The kernel shows others of the same user what a process was started
 * with (`/proc/PID/environ`), whatever becomes of `process.env`: so the memory that it shows is overwritten too.
 */

/** Where the fields of the environment's begin and end stand in /proc/self/stat, counted behind the name (proc_pid_stat(5)). */
const ENV_START = 47;
const ENV_END = 48;

/** Returns where this process keeps what it was started with. */
function placeOfEnvironment(): { start: number; length: number } {
  const stat = readFileSync("/proc/self/stat", "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [start, end] = [Number(fields[ENV_START]), Number(fields[ENV_END])];
  return { start, length: end - start };
}

/** @throws Error where the system lets nobody see or change it */
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
  /** Those that are set and not empty. */
  values: Readonly<Record<string, string>>;
  /** False where other processes of this user still read them. */
  isHidden: boolean;
}

/** Returns the values of these variables and removes them from this process, as itself and as others see it. */
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
