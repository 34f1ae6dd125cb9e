import { dropProgramPages } from "./memory-trim.ts";
import { collectAll } from "./keep-heap-small.ts";

/** Memory that the process may use besides its buffers. */
const BESIDE_BYTES = 80e6;
/** Default of --memory. With a smaller budget, the limit is enforced for every command. */
export const LITTLE_BYTES = 128 * 1024 * 1024;
const LOOK_MS = 50;
/** Growth of memory between two checks and during a collection; in a lasting process a checkpoint makes it grow in leaps. */
const MARGIN_BYTES = { usual: 16e6, lasting: 26e6 };
/** Interval of checks in a lasting process while usage is low: an idle worker should wake up rarely. */
const SELDOM_MS = 100;
/** Intervals of returning program pages to the system; pages in use reload at once. `far` exists because usage may rise fast. */
const GIVE_BACK_MS = { near: 500, far: 10_000 };
/** Garbage collection may take at most one part in this many of the time. */
const REST = 4;

/** Share of the allowed memory below which the check may pause: usage is far from the limit. */
const FAR_SHARE = 0.6;

/** Memory of the process; tests replace it. */
export interface Memory {
  /** Null while it cannot be read, for example when the process is out of file descriptors. */
  residentBytes(): number | null;
  /** Returns pages of the program file to the system; cheap. */
  giveBack(): void;
  /** Collects all garbage; slow. */
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
  giveBack: dropProgramPages,
  cleanUp: collectAll,
  now: () => performance.now(),
};

/**
 * Keeps the resident memory of the process within its memory for buffers plus 80 MB. V8 by itself lets garbage grow to
 * three times the live objects, and keeps the pages. Approaching the limit, the check first returns pages of the program
 * file, then collects all garbage. `isLasting` is for processes that run for days. Returns a function that ends the checks.
 */
export function keepWithin(bufferBytes: number, how: { memory?: Memory; isLasting?: boolean } = {}): () => void {
  const { memory = own, isLasting = false } = how;
  const mostBytes = bufferBytes + BESIDE_BYTES;
  const nearBytes = mostBytes - MARGIN_BYTES[isLasting ? "lasting" : "usual"];
  const restMs = isLasting ? SELDOM_MS : LOOK_MS;
  let restsUntil = 0;
  let gaveBackAt = -Infinity;
  const taken = () => memory.residentBytes() ?? 0;
  const look = () => {
    const startedAt = memory.now();
    const bytes = taken();
    const isNear = bytes >= nearBytes;
    if (bytes < mostBytes * FAR_SHARE || (isNear && startedAt < restsUntil)) return;
    if (startedAt >= gaveBackAt + (isNear ? GIVE_BACK_MS.near : GIVE_BACK_MS.far)) {
      memory.giveBack();
      gaveBackAt = startedAt;
    }
    if (!isNear || taken() < nearBytes) return;
    memory.cleanUp();
    const endedAt = memory.now();
    restsUntil = endedAt + (REST - 1) * (endedAt - startedAt);
  };
  const lookAgain = () => {
    look();
    timer = setTimeout(lookAgain, taken() < mostBytes * FAR_SHARE ? restMs : LOOK_MS).unref();
  };
  let timer = setTimeout(lookAgain, LOOK_MS).unref();
  return () => clearTimeout(timer);
}
