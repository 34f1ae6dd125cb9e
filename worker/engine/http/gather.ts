import type { Buffers } from "./buffers.ts";

/** A lent buffer that fills with the bytes of one body and is emptied in pieces as large as they have become. */
export class Gather {
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

  /** When the oldest byte that was not taken came; Infinity when there is none. */
  get waitingSince(): number {
    return this.#waitingSince;
  }

  /** Where the next bytes shall go: behind those that are still to be taken. */
  room(): Buffer {
    const all = this.#whole();
    return this.#end === 0 ? all : all.subarray(this.#end);
  }

  /** Puts there what stands in `bytes` from `from` on, as far as there is room. Returns how much; it is still to be added. */
  copyIn(bytes: Buffer, from: number): number {
    return bytes.copy(this.#whole(), this.#end, from);
  }

  /** `count` bytes came into the room given last. */
  add(count: number): void {
    if (this.#start === this.#end) this.#waitingSince = this.#now();
    this.#end += count;
  }

  /** Everything that has gathered, valid until more is added; null when there is nothing. */
  take(): Buffer | null {
    if (this.#filled === null || this.#start === this.#end) return null;
    const taken = this.#filled.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#waitingSince = Infinity;
    return taken;
  }

  /** Gives the buffer back: nothing may write into it any more. */
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
