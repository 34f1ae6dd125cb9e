import type { Buffers } from "./socket/buffers.ts";

/** Where the bytes of one body stand until they are taken. */
export interface Gathered {
  readonly roomBytes: number;
  /** So much is there that it should be taken. */
  readonly isDue: boolean;
  /** When the oldest byte that was not taken came; Infinity when there is none. */
  readonly waitingSince: number;
  /** Where the next bytes shall go: behind those that are still to be taken. */
  room(): Buffer;
  /** Puts there what stands in `bytes` from `from` on, as far as there is room. Returns how much; it is still to be added. */
  copyIn(bytes: Buffer, from: number): number;
  /** `count` bytes came into the room given last. */
  add(count: number): void;
  /** Everything that has gathered, valid until more is added; null when there is nothing. */
  take(): Buffer | null;
  /** Gives the buffer back: nothing may write into it any more. */
  release(): void;
}

/** With less room than this the buffer is handed on instead of being filled to its last byte. */
const LITTLE_ROOM_BYTES = 16 * 1024;

/** A lent buffer that fills with the bytes of one body and is emptied in pieces as large as they have become. */
export class Gather implements Gathered {
  readonly #buffers: Buffers;
  readonly #now: () => number;
  readonly #mostBytes: number;
  #lent: Buffer | null = null;
  /** What of it may be filled. */
  #filled: Buffer | null = null;
  #start = 0;
  #end = 0;
  #waitingSince = Infinity;

  /** `mostBytes`: of a buffer, what may be filled. */
  constructor(buffers: Buffers, about: { now: () => number; mostBytes: number }) {
    this.#buffers = buffers;
    this.#now = about.now;
    this.#mostBytes = Math.min(about.mostBytes, buffers.sizeBytes);
  }

  get roomBytes(): number {
    return this.#mostBytes - this.#end;
  }

  get isDue(): boolean {
    return this.roomBytes < LITTLE_ROOM_BYTES;
  }

  get waitingSince(): number {
    return this.#waitingSince;
  }

  room(): Buffer {
    const all = this.#whole();
    return this.#end === 0 ? all : all.subarray(this.#end);
  }

  copyIn(bytes: Buffer, from: number): number {
    return bytes.copy(this.#whole(), this.#end, from);
  }

  add(count: number): void {
    if (this.#start === this.#end) this.#waitingSince = this.#now();
    this.#end += count;
  }

  take(): Buffer | null {
    if (this.#filled === null || this.#start === this.#end) return null;
    const taken = this.#filled.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#waitingSince = Infinity;
    return taken;
  }

  release(): void {
    if (this.#lent !== null) this.#buffers.give(this.#lent);
    this.#lent = null;
    this.#filled = null;
  }

  #whole(): Buffer {
    this.#lent ??= this.#buffers.take();
    this.#filled ??= this.#lent.length > this.#mostBytes ? this.#lent.subarray(0, this.#mostBytes) : this.#lent;
    if (this.#start === this.#end) {
      this.#start = 0;
      this.#end = 0;
    }
    return this.#filled;
  }
}

/** Nothing has to make room; how far it is should be known now and then. */
const DUE_BYTES = 16 * 1024;

/** All of a body, where its sink wants it to stand. There is room behind it, so that bytes that come after it are noticed. */
export class GatherInPlace implements Gathered {
  readonly roomBytes = Infinity;
  readonly #place: Buffer;
  readonly #now: () => number;
  #start = 0;
  #end = 0;
  #waitingSince = Infinity;

  constructor(place: Buffer, now: () => number) {
    this.#place = place;
    this.#now = now;
  }

  get isDue(): boolean {
    return this.#end - this.#start >= DUE_BYTES;
  }

  get waitingSince(): number {
    return this.#waitingSince;
  }

  room(): Buffer {
    return this.#place.subarray(this.#end);
  }

  copyIn(bytes: Buffer, from: number): number {
    return bytes.copy(this.#place, this.#end, from);
  }

  add(count: number): void {
    if (this.#start === this.#end) this.#waitingSince = this.#now();
    this.#end += count;
  }

  take(): Buffer | null {
    if (this.#start === this.#end) return null;
    const taken = this.#place.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#waitingSince = Infinity;
    return taken;
  }

  /** It is the sink's own. */
  release(): void {}
}
