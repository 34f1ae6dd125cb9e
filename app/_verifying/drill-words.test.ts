import { expect, test } from "vitest";
import type { DrillView } from "#protocol/wire/verifying.ts";
import { nextWords, usualWords } from "./drill-words.ts";

const DAY_MS = 86_400_000;
const view = (over: Partial<DrillView>): DrillView => ({
  run: "llama",
  everyMs: 7 * DAY_MS,
  setFor: "all",
  usualMs: 7 * DAY_MS,
  last: [],
  nextAt: null,
  waitsFor: null,
  ...over,
});

test("says when the next drill comes, and what one that is due waits for", () => {
  expect(nextWords(view({ nextAt: 3 * DAY_MS }), DAY_MS)).toBe("The next one comes in 2 d.");
  expect(nextWords(view({ nextAt: 1, waitsFor: "an idle node" }), DAY_MS)).toBe(
    "The next one is due and waits for an idle node.",
  );
  expect(nextWords(view({ everyMs: 0 }), DAY_MS)).toBe("Restores of this run are not rehearsed.");
});

test("says what holds for runs without a setting of their own", () => {
  expect(usualWords(7 * DAY_MS)).toBe("As all runs: every week");
  expect(usualWords(0)).toBe("As all runs: never");
});
