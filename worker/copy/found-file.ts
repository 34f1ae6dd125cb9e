import type { BigIntStats } from "node:fs";
import { join } from "node:path";
import { identityOf, type FileIdentity } from "../engine/identity.ts";

/**
 * The files of a folder. There may be a million of them, so what is known of each lies side by side with that of others: a third of
 * what an object and texts of its own would take. Its path and its identity are made when they are asked for.
 */
export class FoundFiles {
  readonly #folder: string;
  #block: Block | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** `relative`: `/`-separated, below the folder. */
  add(relative: string, stats: Stats): FoundFile {
    this.#block = this.#block === null || this.#block.used === ROWS ? new Block(this.#folder) : this.#block;
    return new FoundFile(relative, { block: this.#block, row: this.#block.put(stats) });
  }
}

type Stats = Pick<BigIntStats, "dev" | "ino" | "size" | "mtimeNs">;

const ROWS = 512;

class Block {
  readonly folder: string;
  readonly dev = new BigUint64Array(ROWS);
  readonly ino = new BigUint64Array(ROWS);
  readonly size = new BigUint64Array(ROWS);
  readonly mtimeNs = new BigInt64Array(ROWS);
  used = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  put({ dev, ino, size, mtimeNs }: Stats): number {
    const row = this.used++;
    this.dev[row] = dev;
    this.ino[row] = ino;
    this.size[row] = size;
    this.mtimeNs[row] = mtimeNs;
    return row;
  }

  at(row: number): Stats {
    const [dev = 0n, ino = 0n, size = 0n] = [this.dev[row], this.ino[row], this.size[row]];
    return { dev, ino, size, mtimeNs: this.mtimeNs[row] ?? 0n };
  }
}

export class FoundFile {
  readonly relative: string;
  readonly #block: Block;
  readonly #row: number;

  constructor(relative: string, place: { block: Block; row: number }) {
    this.relative = relative;
    this.#block = place.block;
    this.#row = place.row;
  }

  get at(): "local" {
    return "local";
  }

  get path(): string {
    return join(this.#block.folder, this.relative);
  }

  get identity(): FileIdentity {
    return identityOf(this.#block.at(this.#row));
  }

  get sizeBytes(): number {
    return Number(this.#block.size[this.#row]);
  }

  get modifiedAtMs(): number {
    return Number((this.#block.mtimeNs[this.#row] ?? 0n) / 1_000_000n);
  }
}
