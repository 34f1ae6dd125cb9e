import type { Buffers } from "./socket/buffers.ts";

/** Memory for the bytes of one body until they are taken. */
export interface Gathered {
  readonly roomBytes: number;
  /** Whether enough bytes wait to be taken. */
  readonly isDue: boolean;
  /** When the oldest byte that was not taken came; Infinity when there is none. */
  readonly waitingSince: number;
  /** Returns the memory for the next bytes, behind those that are still to be taken. */
  room(): Buffer;
  /** Copies `bytes` from `from` on, as far as there is room. Returns how many; they must still be added. */
  copyIn(bytes: Buffer, from: number): number;
  /** Counts `count` bytes that came into the last `room()`. */
  add(count: number): void;
  /** Returns all bytes that have gathered, valid until more are added; null when there are none. */
  take(): Buffer | null;
  /** Returns the buffer to its pool: nothing may write into it any more. */
  release(): void;
}

/** With less room the buffer is passed on instead of being filled to its last byte. */
const LITTLE_ROOM_BYTES = 16 * 1024;

/** A pooled buffer that fills with the bytes of one body, and is emptied of all that has gathered at a time. */
export class Gather implements Gathered {
  readonly #buffers: Buffers;
  readonly #now: () => number;
  readonly #mostBytes: number;
  #lent: Buffer | null = null;
  /** Part of `#lent` that may be filled. */
  #filled: Buffer | null = null;
  #start = 0;
  #end = 0;
  #waitingSince = Infinity;

  /** `mostBytes`: how much of a buffer may be filled. */
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

/** Bytes are passed on now and then to show progress, although no room has to be made. */
const DUE_BYTES = 16 * 1024;

/**
 * Gathers a whole body in the memory that its sink provides. That memory is longer than the body, so extra bytes are noticed.
 */
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

  /** Does nothing: the memory belongs to the sink. */
  release(): void {}
}
