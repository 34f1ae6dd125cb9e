import { readFileSync } from "node:fs";

/** Most resident memory: the default of `--memory`, plus the program itself. */
export const MOST_RESIDENT_BYTES = 128 * 1024 ** 2 + 80e6;

const EVERY_MS = 50;

/**
 * Watches a process and returns a function that stops and returns its peak resident bytes; 0 where Linux does not report them.
 */
export function watchResident(pid: number): () => number {
  let mostBytes = 0;
  const timer = setInterval(() => (mostBytes = Math.max(mostBytes, residentBytes(pid))), EVERY_MS);
  return () => {
    clearInterval(timer);
    return mostBytes;
  };
}

function residentBytes(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
