import { expect, test } from "vitest";
import { TEST_MACHINE } from "../report/test-machine.ts";
import type { PacksResult } from "./result.ts";
import { packsPage, timesFaster } from "./write-page.ts";

const turn = (way: "file by file" | "packed", saveSeconds: number, restoreSeconds: number) => ({
  way,
  round: 1,
  saveSeconds,
  restoreSeconds,
  seenToSafeSeconds: saveSeconds + 5,
  puts: 10,
  gets: 10,
});
const result: PacksResult = {
  ...TEST_MACHINE,
  link: { rttMs: 120, upMbit: 500, downMbit: 500 },
  files: 50_000,
  bytes: 4096,
  turns: [turn("file by file", 300, 200), turn("packed", 20, 40)],
  refused: 0,
};

test("the page holds each way to what was wanted of it", () => {
  expect(timesFaster(result, "saveSeconds")).toBe(15);
  expect(timesFaster(result, "restoreSeconds")).toBe(5);
  const page = packsPage(result);
  expect(page).toContain("* met: saved at least 10 times as fast as file by file (15.0)");
  expect(page).toContain("* **not met**: restored at least 10 times as fast as file by file (5.0)");
  expect(page).not.toContain("could not keep up");
});

test("one way alone is not compared", () => {
  expect(timesFaster({ turns: [turn("packed", 20, 40)] }, "saveSeconds")).toBeNull();
});
