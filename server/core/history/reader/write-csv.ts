import { mapInSlices } from "#server/platform/pauses.ts";

/**
 * Writes comma-separated values as RFC 4180 has them. A spreadsheet takes text for a formula that begins with = + - @, a tab
 * or a line end. Names of nodes are untrusted, so such text gets an apostrophe before it, as OWASP advises ("CSV Injection").
 */

export type CsvValue = string | number | boolean | null;

const FORMULA = /^[=+\-@\t\r\n]/;

function cellOf(value: CsvValue): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const text = FORMULA.test(value.trimStart()) || FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const lineOf = (cells: readonly CsvValue[]): string => `${cells.map(cellOf).join(",")}\r\n`;

export type CsvColumn<T> = readonly [name: string, read: (row: T) => CsvValue];

/** Returns a header line and one line per row. Rows are written in slices, which keeps the event loop free. */
export async function writeCsv<T>(columns: readonly CsvColumn<T>[], rows: readonly T[]): Promise<string> {
  const lines = await mapInSlices(rows, (row) => lineOf(columns.map(([, read]) => read(row))));
  return lineOf(columns.map(([name]) => name)) + lines.join("");
}
