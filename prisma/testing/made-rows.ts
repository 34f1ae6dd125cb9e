import type { Cell, Row, RowTarget } from "../copy/rows.ts";
import type { Kind, Table } from "../copy/tables.ts";

/** For tests: rows for every table of the schema. Rows with the same place in two tables have the same keys, so references hold. */

const CELLS: Readonly<Record<Kind, (place: number) => Cell>> = {
  text: (place) => `row-${place}`,
  whole: (place) => place,
  real: (place) => place + 0.1,
  time: (place) => 1_700_000_000_000 + place,
  "yes or no": (place) => place % 2 === 0,
  bytes: (place) => Buffer.from([0, place % 256, 255]).toString("base64"),
};

/** Returns rows with the places 1 to `count`. */
export const madeRows = ({ columns }: Table, count: number): Row[] =>
  Array.from({ length: count }, (_, index) => columns.map(({ kind }) => CELLS[kind](index + 1)));

/** Writes such rows into every table of an empty database. */
export async function fillTables(target: RowTarget, tables: readonly Table[], count: number): Promise<void> {
  for (const table of tables) await target.write(table, madeRows(table, count));
}
