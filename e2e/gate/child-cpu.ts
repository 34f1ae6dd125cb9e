import { readFileSync } from "node:fs";

/** Measures the CPU time of child processes, which Linux adds to their parent when they have ended. */

const TICKS_PER_SECOND = 100;
/**
 * Fields of `/proc/PID/stat` after the command: user and system time of children that were waited for, with their own
 * children.
 */
const CHILDREN_USER = 13;
const CHILDREN_SYSTEM = 14;

/** Returns the CPU seconds of a process's ended children, from its `/proc/PID/stat`. Pure. */
export function childSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[CHILDREN_USER]) + Number(fields[CHILDREN_SYSTEM])) / TICKS_PER_SECOND;
}

let taken = 0;

/**
 * Returns the CPU seconds of children that ended since the last call; null where unknown. Called right after a child has
 * ended, the result is that child's time. Descendants that outlive their parents are not counted.
 */
export function takeChildSeconds(): number | null {
  if (process.platform !== "linux") return null;
  const now = childSeconds(readFileSync("/proc/self/stat", "utf8"));
  const seconds = now - taken;
  taken = now;
  return seconds;
}
