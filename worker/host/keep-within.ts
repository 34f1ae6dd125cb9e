import { dropProgramPages } from "./memory-trim.ts";
import { collectAll } from "./keep-heap-small.ts";

/** What the program may take besides its memory for buffers. */
const BESIDE_BYTES = 80e6;
/** With less memory for buffers than is usual it is always looked after. */
export const LITTLE_BYTES = 128 * 1024 * 1024;
const LOOK_MS = 50;
/** Memory grows by so much between two looks and while it is cleaned up; in what runs for days in leaps, while a checkpoint is looked at. */
const MARGIN_BYTES = { usual: 16e6, lasting: 26e6 };
/** How often is looked while little is taken, by what runs for days: every wake-up counts where nothing else happens for hours. */
const SELDOM_MS = 100;
/** Intervals between returns of program pages to the system; pages in use are loaded again at once. Far from the limit it is done too, because usage may rise fast. */
const GIVE_BACK_MS = { near: 500, far: 10_000 };
/** Cleaning up takes at most one part in this many of the time. */
const REST = 4;

/** Share of the allowed memory below which the check may pause: usage is far from the limit. */
const FAR_SHARE = 0.6;

/** So that a test can be the memory. */
export interface Memory {
  /** Null where it cannot be told just now, as when no file can be opened any more. */
  residentBytes(): number | null;
  /** Costs next to nothing. */
  giveBack(): void;
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
 * Keeps what the process has resident within its memory for buffers and 80 MB, as far as garbage goes, and what only the start
 * needed of the program: V8 lets three times of what is alive lie about, and keeps the pages. The program's own pages are given back
 * on the way there, and where that does not suffice all garbage is collected; until then it costs nothing. `isLasting`: of
 * what runs for days. Returns what ends it.
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
