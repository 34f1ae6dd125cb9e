import { mapInSlices } from "#server/platform/pauses.ts";

/**
 * Comma-separated values as RFC 4180 has them. Text that a spreadsheet would take for a formula (it begins with = + - @, a tab
 * or a line end) gets an apostrophe before it, as OWASP advises ("CSV Injection"): names of nodes are a stranger's.
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

/** With a line of the columns' names first; many rows are written in slices. */
export async function writeCsv<T>(columns: readonly CsvColumn<T>[], rows: readonly T[]): Promise<string> {
  const lines = await mapInSlices(rows, (row) => lineOf(columns.map(([, read]) => read(row))));
  return lineOf(columns.map(([name]) => name)) + lines.join("");
}
