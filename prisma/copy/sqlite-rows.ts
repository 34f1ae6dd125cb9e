import { setImmediate } from "node:timers/promises";
import { PrismaLibSql } from "@prisma/adapter-libsql";
import type { SqlClient } from "../connection.ts";
import { textOf } from "../migrate.ts";
import { portableWhole, rowsAtOnce, widestRow, type Cell, type Row, type RowSource, type RowTarget } from "./rows.ts";
import type { Kind, Table } from "./tables.ts";
import { fileUrl } from "../file-url.ts";

/**
 * Reads and writes whole tables of a file of SQLite. The library's promises are settled at once, so without a turn of the event
 * loop after each statement nothing frees what the statement took outside of the heap.
 */

/** Most parameters of a statement. */
const MOST_PARAMETERS = 32_766;

/** Opens a file that no hub has open, with integers as `bigint`: the copy of a row loses nothing. */
export async function openForRows(file: string): Promise<SqlClient> {
  const config = { url: fileUrl(file), intMode: "bigint" } as const;
  const client = new PrismaLibSql(config).createClient(config);
  await client.execute("PRAGMA busy_timeout = 5000");
  return client;
}

const READ: Readonly<Record<Kind, (value: unknown) => Cell | undefined>> = {
  text: (value) => (typeof value === "string" ? value : undefined),
  whole: (value) => (typeof value === "bigint" ? portableWhole(value) : undefined),
  real: (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined),
  time: (value) => (typeof value === "bigint" ? portableWhole(value) : undefined),
  "yes or no": (value) => (value === 0n || value === 1n ? value === 1n : undefined),
  bytes: (value) => (value instanceof ArrayBuffer ? Buffer.from(value).toString("base64") : undefined),
};

function toRow({ name, columns }: Table, values: ArrayLike<unknown>): Row {
  return columns.map((column, place) => {
    // The number of the row comes first.
    const value = values[place + 1];
    if (value === null) return null;
    const cell = READ[column.kind](value);
    if (cell === undefined) throw new Error(`${name}.${column.name} holds a value that is no ${column.kind}`);
    return cell;
  });
}

type Argument = string | number | bigint | boolean | Uint8Array | null;

function toArgument(kind: Kind, cell: Cell): Argument {
  if (cell === null || typeof cell === "boolean") return cell;
  if (kind === "bytes") return Buffer.from(String(cell), "base64");
  if (kind === "whole" || kind === "time") return BigInt(cell);
  return kind === "real" ? Number(cell) : cell;
}

const namesOf = ({ columns }: Table): string => columns.map(({ name }) => `"${name}"`).join(", ");

/** Returns what reads the tables of a file. */
export function readSqliteRows(client: SqlClient): RowSource {
  return {
    read: async function* (table) {
      const widest = await client.execute(widestRow(table));
      const atOnce = rowsAtOnce(Number(widest.rows[0]?.[0]));
      let after: unknown = null;
      for (;;) {
        const where = after === null ? "" : "WHERE rowid > ?";
        const { rows } = await client.execute({
          sql: `SELECT rowid, ${namesOf(table)} FROM "${table.name}" ${where} ORDER BY rowid LIMIT ${atOnce}`,
          args: typeof after === "bigint" ? [after] : [],
        });
        await setImmediate();
        if (rows.length === 0) return;
        yield rows.map((row) => toRow(table, row));
        after = rows.at(-1)?.[0];
      }
    },
    readNumbers: async (tables) => {
      const { rows } = await client.execute("SELECT name, seq FROM sqlite_sequence");
      const all = new Map(rows.map((row) => [textOf(row[0]), Number(row[1])]));
      return new Map(
        tables.flatMap(({ name, number }) => {
          const last = all.get(name);
          return number === null || last === undefined ? [] : [[name, last] as const];
        }),
      );
    },
  };
}

/** Returns what fills the empty tables of a file. */
export function writeSqliteRows(client: SqlClient): RowTarget {
  return {
    ...readSqliteRows(client),
    write: async (table, rows) => {
      const { name, columns } = table;
      const atOnce = Math.floor(MOST_PARAMETERS / columns.length);
      const places = `(${columns.map(() => "?").join(", ")})`;
      for (let from = 0; from < rows.length; from += atOnce) {
        const some = rows.slice(from, from + atOnce);
        const args = some.flatMap((row) => columns.map(({ kind }, place) => toArgument(kind, row[place] ?? null)));
        const sql = `INSERT INTO "${name}" (${namesOf(table)}) VALUES ${Array(some.length).fill(places).join(", ")}`;
        await client.execute({ sql, args });
        await setImmediate();
      }
    },
    writeNumbers: async (_, numbers) => {
      for (const [name, last] of numbers) {
        await client.execute({ sql: "DELETE FROM sqlite_sequence WHERE name = ?", args: [name] });
        await client.execute({ sql: "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", args: [name, last] });
      }
    },
  };
}
