import type { Client } from "pg";
import {
  rowsAtOnce,
  portableWhole,
  widestRow,
  type Cell,
  type Row,
  type RowSource,
  type RowTarget,
} from "../copy/rows.ts";
import type { Column, Kind, Table } from "../copy/tables.ts";

/** Reads and writes whole tables of PostgreSQL, inside a transaction of the caller. */

const MS_OF_DAY = 86_400_000;

/** SQL for a column in a form that PostgreSQL writes exactly as text. */
const selected = ({ name, kind }: Column): string =>
  kind === "time" ? `CAST(extract(epoch FROM "${name}") * 1000 AS BIGINT)` : `"${name}"`;

const READ: Readonly<Record<Kind, (text: string) => Cell>> = {
  text: (text) => text,
  whole: (text) => portableWhole(BigInt(text)),
  real: Number,
  time: (text) => portableWhole(BigInt(text)),
  "yes or no": (text) => text === "t",
  bytes: (text) => Buffer.from(text.slice(String.raw`\x`.length), "hex").toString("base64"),
};

/** SQL for a cell of a JSON array in the type of its column. */
const INSERTED: Readonly<Record<Kind, (text: string) => string>> = {
  text: (text) => text,
  whole: (text) => `CAST(${text} AS BIGINT)`,
  real: (text) => `CAST(${text} AS DOUBLE PRECISION)`,
  // Days apart, because a time as one number of milliseconds is not exact where it is far away.
  time: (text) =>
    `(TIMESTAMP 'epoch' + CAST(${text} AS BIGINT) / ${MS_OF_DAY} * INTERVAL '1 day' + CAST(${text} AS BIGINT) % ${MS_OF_DAY} * INTERVAL '1 millisecond')`,
  "yes or no": (text) => `CAST(${text} AS BOOLEAN)`,
  bytes: (text) => `decode(${text}, 'base64')`,
};

/** Leaves every cell as the text that the server sent. */
const AS_TEXT = { getTypeParser: () => (text: string) => text };

const namesOf = ({ columns }: Table): string => columns.map(({ name }) => `"${name}"`).join(", ");

/** Returns what reads the tables. Rows come through a cursor, so neither side holds a whole table. */
export function readPostgresRows(client: Client): RowSource {
  return {
    read: async function* (table) {
      const widest = await client.query<[string]>({ text: widestRow(table), rowMode: "array", types: AS_TEXT });
      const atOnce = rowsAtOnce(Number(widest.rows[0]?.[0]));
      const columns = table.columns.map(selected).join(", ");
      await client.query(`DECLARE "copied" NO SCROLL CURSOR FOR SELECT ${columns} FROM "${table.name}"`);
      for (;;) {
        const text = `FETCH FORWARD ${atOnce} FROM "copied"`;
        const { rows } = await client.query<(string | null)[]>({ text, rowMode: "array", types: AS_TEXT });
        if (rows.length === 0) break;
        yield rows.map((row): Row =>
          table.columns.map(({ kind }, place) => {
            const cell = row[place] ?? null;
            return cell === null ? null : READ[kind](cell);
          }),
        );
      }
      await client.query(`CLOSE "copied"`);
    },
    readNumbers: async (tables) => {
      const numbers = new Map<string, number>();
      for (const { name, number } of tables) {
        if (number === null) continue;
        const sequence = await sequenceOf(client, name, number);
        if (sequence === null) continue;
        const { rows } = await client.query<{ last: string; used: boolean }>(
          `SELECT last_value AS last, is_called AS used FROM ${sequence}`,
        );
        const [row] = rows;
        if (row?.used === true) numbers.set(name, Number(row.last));
      }
      return numbers;
    },
  };
}

/** Returns the name of the sequence behind a column, as text of SQL; null where there is none. */
async function sequenceOf(client: Client, table: string, column: string): Promise<string | null> {
  const { rows } = await client.query<{ name: string | null }>("SELECT pg_get_serial_sequence($1, $2) AS name", [
    `"${table}"`,
    column,
  ]);
  return rows[0]?.name ?? null;
}

/** Returns what fills empty tables. */
export function writePostgresRows(client: Client): RowTarget {
  return {
    ...readPostgresRows(client),
    write: async (table, rows) => {
      const cells = table.columns.map(({ kind }, place) => INSERTED[kind](`(word ->> ${place})`)).join(", ");
      await client.query(
        `INSERT INTO "${table.name}" (${namesOf(table)}) SELECT ${cells} FROM jsonb_array_elements(CAST($1 AS JSONB)) AS word`,
        [JSON.stringify(rows)],
      );
    },
    writeNumbers: async (tables, numbers) => {
      for (const { name, number } of tables) {
        const last = numbers.get(name) ?? 0;
        const sequence = number === null || last === 0 ? null : await sequenceOf(client, name, number);
        if (sequence !== null) await client.query("SELECT setval(CAST($1 AS regclass), $2)", [sequence, last]);
      }
    },
  };
}
