import { crc32 } from "node:zlib";

/** Offsets of the two journal records of an object. */
export interface SentPlace {
  fileAt: number;
  sentAt: number;
}

const NONE = 2 ** 32 - 1;
const FIRST_SLOTS = 1_024;
/** Highest load factor of the hash table. */
const FULL = 0.8;

/**
 * Hash table of the offsets of finished objects in a journal: 15 to 30 bytes for each of up to a million. Keys are told apart
 * by a 32-bit CRC only, so callers must compare the key of the record.
 */
export class SentPlaces {
  #sums = new Uint32Array(FIRST_SLOTS);
  #filesAt = new Uint32Array(FIRST_SLOTS).fill(NONE);
  #sentAt = new Uint32Array(FIRST_SLOTS);
  #used = 0;

  /**
   * Stores the offsets of a key. Returns false, and stores nothing, when a key of the same CRC has a place, or beyond the
   * first 4 GiB of a journal.
   */
  put(key: string, place: SentPlace): boolean {
    if (place.sentAt >= NONE) return false;
    if (this.#used >= FULL * this.#sums.length) this.#grow();
    return this.#set(crc32(key), place);
  }

  /** Updates the offset of an object that was sent once more. */
  sentAgain(key: string, sentAt: number): void {
    const slot = this.#slotOf(crc32(key));
    if (this.#filesAt[slot] === NONE) return;
    // An offset beyond 4 GiB cannot be stored: the object is then sent once more.
    this.#sentAt[slot] = Math.min(sentAt, NONE);
  }

  find(key: string): SentPlace | null {
    const slot = this.#slotOf(crc32(key));
    const fileAt = this.#filesAt[slot] ?? NONE;
    return fileAt === NONE ? null : { fileAt, sentAt: this.#sentAt[slot] ?? NONE };
  }

  #set(sum: number, { fileAt, sentAt }: SentPlace): boolean {
    const slot = this.#slotOf(sum);
    if (this.#filesAt[slot] !== NONE) return false;
    this.#sums[slot] = sum;
    this.#filesAt[slot] = fileAt;
    this.#sentAt[slot] = sentAt;
    this.#used++;
    return true;
  }

  /** Returns the slot of the CRC, or the empty slot where it belongs. */
  #slotOf(sum: number): number {
    const last = this.#sums.length - 1;
    let slot = sum & last;
    while (this.#filesAt[slot] !== NONE && this.#sums[slot] !== sum) slot = (slot + 1) & last;
    return slot;
  }

  #grow(): void {
    const [sums, filesAt, sentAt] = [this.#sums, this.#filesAt, this.#sentAt];
    const slots = 2 * sums.length;
    this.#sums = new Uint32Array(slots);
    this.#filesAt = new Uint32Array(slots).fill(NONE);
    this.#sentAt = new Uint32Array(slots);
    this.#used = 0;
    for (const [slot, at] of filesAt.entries()) {
      if (at !== NONE) this.#set(sums[slot] ?? 0, { fileAt: at, sentAt: sentAt[slot] ?? NONE });
    }
  }
}
