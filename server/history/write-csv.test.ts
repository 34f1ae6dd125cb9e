import { expect, test } from "vitest";
import { writeCsv } from "./write-csv.ts";

test("a spreadsheet takes no cell for a formula", () => {
  const hostile = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "  =1"];
  const [, ...lines] = writeCsv(
    ["a"],
    hostile.map((cell) => [cell]),
  ).split(/(?<=\r\n)(?=['"])/);
  const cells = writeCsv(
    ["a"],
    hostile.map((cell) => [cell]),
  );
  for (const cell of hostile) expect(cells).toContain(`'${cell}`);
  expect(lines.length).toBeLessThanOrEqual(hostile.length);
});

test("numbers stay numbers, also negative ones", () => {
  expect(writeCsv(["a", "b", "c"], [[-1.5, true, null]])).toBe("a,b,c\r\n-1.5,true,\r\n");
});

test("commas, quotes and line ends do not leave their cell", () => {
  expect(writeCsv(["a", "b"], [['say "hi", friend', "two\nlines"]])).toBe(
    'a,b\r\n"say ""hi"", friend","two\nlines"\r\n',
  );
});
