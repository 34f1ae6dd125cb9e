/**
 * Comma-separated values as RFC 4180 has them. Text that a spreadsheet would take for a formula (it begins with = + - @, a tab
 * or a line end) gets an apostrophe before it, as OWASP advises ("CSV Injection"): names of nodes are a stranger's. Pure.
 */

export type CsvValue = string | number | boolean | null;

const FORMULA = /^[=+\-@\t\r\n]/;

function cellOf(value: CsvValue): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const text = FORMULA.test(value.trimStart()) || FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** With a line of the columns' names first. */
export const writeCsv = (columns: readonly string[], rows: readonly (readonly CsvValue[])[]): string =>
  [columns, ...rows].map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
