import type { Rows } from "#worker/base/rows.ts";
import type { ScratchFile } from "./scratch-file.ts";

/** What rows are as text, and by what they are put in order. */
export interface RowForm<T> {
  nameOf(row: T): string;
  toText(rows: readonly T[]): string;
  /** Of what `toText` made, and nothing else. */
  ofText(text: string): T[];
}

/** With `P` being plain JSON. */
export const jsonForm = <T, P>(about: {
  nameOf: (row: T) => string;
  pack: (row: T) => P;
  unpack: (packed: P) => T;
}): RowForm<T> => ({
  nameOf: about.nameOf,
  toText: (rows) => JSON.stringify(rows.map(about.pack)),
  ofText: (text) => {
    const packed: P[] = JSON.parse(text);
    return packed.map(about.unpack);
  },
});

/**
 * A list that lies in memory while it is short, and in a file when it is long: there may be a million rows. Of a long one only
 * what was looked at last is in memory, so one that is looked at twice may be two objects.
 */
export class Spool<T> implements Rows<T> {
  readonly #form: RowForm<T>;
  readonly #scratch: ScratchFile;
  /** Those full of rows; each is in memory where the disk would not take it. */
  readonly #blocks: ({ at: number; length: number } | T[])[] = [];
  /** What is not in a block yet. */
  readonly #newest: T[] = [];
  /** Of the blocks that were looked at last, the oldest first. */
  readonly #known = new Map<number, T[]>();
  #lastName: string | null = null;
  #isSorted = true;
  #hasTwins = false;

  constructor(form: RowForm<T>, scratch: ScratchFile) {
    this.#form = form;
    this.#scratch = scratch;
  }

  get length(): number {
    return this.#blocks.length * BLOCK_ROWS + this.#newest.length;
  }

  /** Whether they came in the order of their names. */
  get isSorted(): boolean {
    return this.#isSorted;
  }

  /** Whether a name came twice in a row; of what is sorted, whether one is there twice. */
  get hasTwins(): boolean {
    return this.#hasTwins;
  }

  add(row: T): void {
    const name = this.#form.nameOf(row);
    if (name === this.#lastName) this.#hasTwins = true;
    if (this.#lastName !== null && name < this.#lastName) this.#isSorted = false;
    this.#lastName = name;
    this.#newest.push(row);
    if (this.#newest.length < (this.#blocks.length === 0 ? SHORT_ROWS : BLOCK_ROWS)) return;
    while (this.#newest.length > 0) this.#putAway();
  }

  at(index: number): T | undefined {
    const block = Math.floor(index / BLOCK_ROWS);
    return block < this.#blocks.length
      ? this.#look(block)[index % BLOCK_ROWS]
      : this.#newest[index - this.#blocks.length * BLOCK_ROWS];
  }

  *[Symbol.iterator](): Generator<T> {
    for (let block = 0; block < this.#blocks.length; block++) yield* this.#read(block);
    yield* this.#newest;
  }

  #putAway(): void {
    const rows = this.#newest.splice(0, BLOCK_ROWS);
    const bytes = Buffer.from(this.#form.toText(rows));
    const at = this.#scratch.write(bytes);
    this.#blocks.push(at === null ? rows : { at, length: bytes.length });
  }

  #look(block: number): T[] {
    const rows = this.#known.get(block) ?? this.#read(block);
    this.#known.delete(block);
    this.#known.set(block, rows);
    if (this.#known.size > KNOWN_BLOCKS) {
      const [oldest = block] = this.#known.keys();
      this.#known.delete(oldest);
    }
    return rows;
  }

  #read(block: number): T[] {
    const place = this.#blocks[block];
    if (place === undefined || Array.isArray(place)) return place ?? [];
    return this.#form.ofText(this.#scratch.read(place.at, place.length).toString());
  }
}

/** Fewer than this stay in memory. */
const SHORT_ROWS = 4_096;
const BLOCK_ROWS = 256;
/** What moves at a time lies in a few of them. */
const KNOWN_BLOCKS = 12;
