import { collectAll } from "./keep-heap-small.ts";

/** What the program may take besides its memory for buffers. */
const BESIDE_BYTES = 80e6;
/** With less memory for buffers than is usual it is always looked after. */
export const LITTLE_BYTES = 128 * 1024 * 1024;
const LOOK_MS = 50;
/** Memory grows by so much between two looks and while it is cleaned up. */
const MARGIN_BYTES = 16e6;
/** To clean up takes at most one part of this many of the time. */
const REST = 4;

/** So that a test can be the memory. */
export interface Memory {
  /** Null where it cannot be told just now, as when no file can be opened any more. */
  residentBytes(): number | null;
  cleanUp(): void;
  now(): number;
}

const own: Memory = {
  residentBytes: () => {
    try {
      return process.memoryUsage.rss();
    } catch {
      return null;
    }
  },
  cleanUp: collectAll,
  now: () => performance.now(),
};

/**
 * Keeps what the process has resident within its memory for buffers and 80 MB, as far as garbage goes: V8 lets three times of what is alive lie about, and
 * keeps the pages. All of it is collected, and the pages are given back, when that much is there; until then it costs nothing. Returns what ends it.
 */
export function keepWithin(bufferBytes: number, memory: Memory = own): () => void {
  const mostBytes = bufferBytes + BESIDE_BYTES;
  let restsUntil = 0;
  const look = () => {
    const startedAt = memory.now();
    if (startedAt < restsUntil || (memory.residentBytes() ?? 0) < mostBytes - MARGIN_BYTES) return;
    memory.cleanUp();
    const endedAt = memory.now();
    restsUntil = endedAt + (REST - 1) * (endedAt - startedAt);
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
