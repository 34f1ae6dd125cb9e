import { dropProgramPages } from "./drop-program-pages.ts";
import { collectAll } from "./keep-heap-small.ts";

/** What the program may take besides its memory for buffers. */
const BESIDE_BYTES = 80e6;
/** With less memory for buffers than is usual it is always looked after. */
export const LITTLE_BYTES = 128 * 1024 * 1024;
const LOOK_MS = 50;
/** Memory grows by so much between two looks and while it is cleaned up; who may have more does more at a time. */
const MARGIN = { bytes: 16e6, share: 1 / 8 };
/** What is in use of the program comes back at once; what is not comes back seldom. Far away it is done because what follows may come in a rush. */
const GIVE_BACK_MS = { near: 500, far: 10_000 };
/** To clean up takes at most one part of this many of the time. */
const REST = 4;

/** Below this share of what is allowed nothing is near, and who rests may rest. */
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
 * on the way there, and where that does not suffice all garbage is collected; until then it costs nothing. `restMs`: how often it is
 * looked at while little is taken. Returns what ends it.
 */
export function keepWithin(bufferBytes: number, how: { memory?: Memory; restMs?: number } = {}): () => void {
  const { memory = own, restMs = LOOK_MS } = how;
  const mostBytes = bufferBytes + BESIDE_BYTES;
  const nearBytes = mostBytes - Math.max(MARGIN.bytes, mostBytes * MARGIN.share);
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
