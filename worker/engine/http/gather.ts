import type { Buffers } from "./buffers.ts";

/** A lent buffer that fills with the bytes of one body and is emptied in pieces as large as they have become. */
export interface Gather {
  /** Where the next bytes shall go: behind those that are still to be taken. */
  room(): Buffer;
  /** Puts there what stands in `bytes` from `from` on, as far as there is room. Returns how much; it is still to be added. */
  copyIn(bytes: Buffer, from: number): number;
  /** `count` bytes came into the room given last. */
  add(count: number): void;
  /** Everything that has gathered, valid until more is added; null when there is nothing. */
  take(): Buffer | null;
  readonly roomBytes: number;
  /** When the oldest byte that was not taken came; Infinity when there is none. */
  readonly waitingSince: number;
  /** Gives the buffer back: nothing may write into it any more. */
  release(): void;
}

/** `mostBytes`: of a buffer, what may be filled. */
export function createGather(buffers: Buffers, about: { now: () => number; mostBytes: number }): Gather {
  const { now } = about;
  const mostBytes = Math.min(about.mostBytes, buffers.sizeBytes);
  let lent: Buffer | null = null;
  /** What of it may be filled. */
  let filled: Buffer | null = null;
  let start = 0;
  let end = 0;
  let waitingSince = Infinity;
  const whole = (): Buffer => {
    lent ??= buffers.take();
    filled ??= lent.length > mostBytes ? lent.subarray(0, mostBytes) : lent;
    if (start === end) {
      start = 0;
      end = 0;
    }
    return filled;
  };
  return {
    room: () => {
      const all = whole();
      return end === 0 ? all : all.subarray(end);
    },
    copyIn: (bytes, from) => bytes.copy(whole(), end, from),
    add: (count) => {
      if (start === end) waitingSince = now();
      end += count;
    },
    take: () => {
      if (filled === null || start === end) return null;
      const taken = filled.subarray(start, end);
      start = end;
      waitingSince = Infinity;
      return taken;
    },
    get roomBytes() {
      return mostBytes - end;
    },
    get waitingSince() {
      return waitingSince;
    },
    release: () => {
      if (lent !== null) buffers.give(lent);
      lent = null;
      filled = null;
    },
  };
}
