import { expect, test } from "vitest";
import { canComeBack } from "./step-aside.ts";

const status = (capEff: string) => `Name:\tnode\nCapEff:\t${capEff}\nThreads:\t11\n`;
const limits = (soft: string) =>
  `Limit  Soft Limit  Hard Limit\nMax nice priority         ${soft}                    ${soft}\n`;
const reading = (capEff: string, nice: string) => (path: string) =>
  path.endsWith("status") ? status(capEff) : limits(nice);

test("may come back with the capability, or with a limit that allows it", () => {
  expect(canComeBack(reading("000001ffffffffff", "0"))).toBe(true);
  expect(canComeBack(reading("0000000000000000", "20"))).toBe(true);
  expect(canComeBack(reading("0000000000000000", "unlimited"))).toBe(true);
});

test("may not with what containers give by default, nor where nothing can be read", () => {
  // Docker's default set: without CAP_SYS_NICE.
  expect(canComeBack(reading("00000000a80425fb", "0"))).toBe(false);
  expect(canComeBack(() => "")).toBe(false);
});
