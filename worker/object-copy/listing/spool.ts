import type { Rows } from "#worker/base/rows.ts";
import type { ScratchFile } from "./scratch-file.ts";

/** Serialization of rows, and the name that orders them. */
export interface RowForm<T> {
  nameOf(row: T): string;
  toText(rows: readonly T[]): string;
  /** Parses the output of `toText`, and nothing else. */
  ofText(text: string): T[];
}

/** Makes a row form from functions that convert a row to and from plain JSON (`P`). */
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
 * A list in memory while it is short, and in a scratch file when it is long, because there may be a million rows. Only the
 * last used blocks of a long list are cached, so reading a row twice may give two different objects.
 */
export class Spool<T> implements Rows<T> {
  readonly #form: RowForm<T>;
  readonly #scratch: ScratchFile;
  /** Full blocks: their place in the scratch file, or the rows where the disk refused them. */
  readonly #blocks: ({ at: number; length: number } | T[])[] = [];
  /** Rows that do not fill a block yet. */
  readonly #newest: T[] = [];
  /** LRU cache of blocks, least recently used first. */
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

  /** Whether the rows were added in the order of their names. */
  get isSorted(): boolean {
    return this.#isSorted;
  }

  /** Whether two consecutive rows have the same name; in a sorted list, whether any name is repeated. */
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

/** Lists shorter than this stay in memory. */
const SHORT_ROWS = 4_096;
const BLOCK_ROWS = 256;
/** Number of cached blocks; the files in flight at a time lie in a few blocks. */
const KNOWN_BLOCKS = 12;
