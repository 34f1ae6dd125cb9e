import { expect, test } from "vitest";
import { type CsvValue, writeCsv as writeRows } from "./write-csv.ts";

const writeCsv = (names: readonly string[], rows: readonly (readonly CsvValue[])[]) =>
  writeRows(
    names.map((name, at) => [name, (row: readonly CsvValue[]) => row[at] ?? null] as const),
    rows,
  );

test("a spreadsheet takes no cell for a formula", async () => {
  const hostile = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "  =1"];
  const cells = await writeCsv(
    ["a"],
    hostile.map((cell) => [cell]),
  );
  const [, ...lines] = cells.split(/(?<=\r\n)(?=['"])/);
  for (const cell of hostile) expect(cells).toContain(`'${cell}`);
  expect(lines.length).toBeLessThanOrEqual(hostile.length);
});

test("numbers stay numbers, also negative ones", async () => {
  expect(await writeCsv(["a", "b", "c"], [[-1.5, true, null]])).toBe("a,b,c\r\n-1.5,true,\r\n");
});

test("commas, quotes and line ends do not leave their cell", async () => {
  expect(await writeCsv(["a", "b"], [['say "hi", friend', "two\nlines"]])).toBe(
    'a,b\r\n"say ""hi"", friend","two\nlines"\r\n',
  );
});
