import { readFileSync } from "node:fs";

/** What `--memory` is when nobody says it, and what the program may take besides. */
export const MOST_RESIDENT_BYTES = 128 * 1024 ** 2 + 80e6;

const EVERY_MS = 50;

/** Follows a process until it is told to stop, and then says the most bytes that it had resident; 0 where Linux does not tell. */
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
