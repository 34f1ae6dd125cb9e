import { expect, test } from "vitest";
import { EXIT_CODES } from "./exit-codes.ts";
import { FAULTS } from "./fault-table.ts";

const codes = EXIT_CODES.map(({ code }) => code);

test("every fault ends with a code of the table", () => {
  const known = new Set<number>(codes);
  expect(Object.entries(FAULTS).filter(([, { exit }]) => !known.has(exit))).toEqual([]);
});

test("the codes are in order and each is there once", () => {
  expect(codes).toEqual([...new Set(codes)].toSorted((a, b) => a - b));
});
