import { readFileSync } from "node:fs";

/** CPU time of child processes, as Linux counts it for their parent when they have ended. */

const TICKS_PER_SECOND = 100;
/** In `/proc/PID/stat` after the command: user and system time of children that were waited for, and of theirs. */
const CHILDREN_USER = 13;
const CHILDREN_SYSTEM = 14;

/** Pure: seconds of CPU that the ended children of a process used, from its `/proc/PID/stat`. */
export function childSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[CHILDREN_USER]) + Number(fields[CHILDREN_SYSTEM])) / TICKS_PER_SECOND;
}

let taken = 0;

/**
 * Returns the CPU seconds of children that have ended since the last call; null where they cannot be known. Called as soon as a
 * child has ended, they are those of that child. Descendants that outlive their parents are not counted.
 */
export function takeChildSeconds(): number | null {
  if (process.platform !== "linux") return null;
  const now = childSeconds(readFileSync("/proc/self/stat", "utf8"));
  const seconds = now - taken;
  taken = now;
  return seconds;
}
