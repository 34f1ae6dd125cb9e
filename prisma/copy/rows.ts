import { hash } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import type { Table } from "./tables.ts";

/**
 * Rows in a form that is the same for every database: integers as numbers (as decimal text above 2^53), times as epoch ms, bytes
 * as base64.
 */
export type Cell = string | number | boolean | null;
export type Row = readonly Cell[];

/** The highest automatic number of each table. A number is never reused, even after a deletion. */
export type Numbers = ReadonlyMap<string, number>;

export interface RowSource {
  /** Yields all rows of a table in the order in which they are stored, a bounded number of bytes at a time. */
  read: (table: Table) => AsyncIterable<readonly Row[]>;
  readNumbers: (tables: readonly Table[]) => Promise<Numbers>;
}

/** A database that is being filled. It reads back what was written to it. */
export interface RowTarget extends RowSource {
  write: (table: Table, rows: readonly Row[]) => Promise<void>;
  writeNumbers: (tables: readonly Table[], numbers: Numbers) => Promise<void>;
}

/** The content of a table: equal for two databases exactly when they have the same rows, in whatever order. */
export interface TableChecksum {
  table: string;
  rows: number;
  /** The sum of the SHA-256 of all rows modulo 2^256, in hex. */
  hash: string;
}

const MODULUS = 1n << 256n;

/** Returns the cell for an integer. */
export const portableWhole = (value: bigint): Cell => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
};

/** Counts and hashes the rows of one table. */
export class TableHasher {
  #rows = 0;
  #sum = 0n;

  add(rows: readonly Row[]): void {
    for (const row of rows) this.#sum += BigInt(`0x${hash("sha256", JSON.stringify(row))}`);
    this.#sum %= MODULUS;
    this.#rows += rows.length;
  }

  result(table: string): TableChecksum {
    return { table, rows: this.#rows, hash: this.#sum.toString(16).padStart(64, "0") };
  }
}

/** Most bytes of the rows that are in memory at a time, and most rows. */
const BATCH_BYTES = 4 * 1024 * 1024;
const BATCH_ROWS = 500;
/** Room for the cells that are no text and no bytes. */
const OTHER_CELLS_BYTES = 500;

/** Returns SQL for the bytes of the widest row of a table, which bounds how many rows are read at once. */
export function widestRow({ name, columns }: Table): string {
  const lengths = columns
    .filter(({ kind }) => kind === "text" || kind === "bytes")
    .map((column) => `coalesce(octet_length("${column.name}"), 0)`);
  return `SELECT coalesce(max(${["0", ...lengths].join(" + ")}), 0) FROM "${name}"`;
}

/** Returns how many rows are read at once when the widest has this many bytes. */
export const rowsAtOnce = (widestBytes: number): number =>
  Math.max(1, Math.min(BATCH_ROWS, Math.floor(BATCH_BYTES / (widestBytes + OTHER_CELLS_BYTES))));

/** Counts and hashes the rows of every table. */
export async function checksumTables(source: RowSource, tables: readonly Table[]): Promise<TableChecksum[]> {
  const checksums: TableChecksum[] = [];
  for (const table of tables) {
    const hasher = new TableHasher();
    for await (const rows of source.read(table)) hasher.add(rows);
    checksums.push(hasher.result(table.name));
  }
  return checksums;
}

export interface CopyOptions {
  from: RowSource;
  to: RowTarget;
  tables: readonly Table[];
  /** Called when a table has been copied. */
  onTable?: (checksum: TableChecksum) => void;
}

/**
 * Copies every row into an empty database, then reads it back and compares.
 * @throws Fault DATABASE_COPY_DIFFERS
 */
export async function copyRows({ from, to, tables, onTable }: CopyOptions): Promise<TableChecksum[]> {
  const read: TableChecksum[] = [];
  for (const table of tables) {
    const hasher = new TableHasher();
    for await (const rows of from.read(table)) {
      hasher.add(rows);
      await to.write(table, rows);
    }
    const one = hasher.result(table.name);
    read.push(one);
    onTable?.(one);
  }
  await to.writeNumbers(tables, await from.readNumbers(tables));
  const written = await checksumTables(to, tables);
  for (const [index, one] of read.entries()) {
    const other = written[index];
    if (other?.rows === one.rows && other.hash === one.hash) continue;
    const detail = `${one.rows} rows were read and ${other?.rows ?? 0} written, or with another content`;
    throw new Fault("DATABASE_COPY_DIFFERS", { op: "copy", subject: one.table, detail });
  }
  return read;
}
