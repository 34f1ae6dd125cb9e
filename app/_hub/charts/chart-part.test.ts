import { expect, test } from "vitest";
import { reachingRange, readPart } from "./chart-part.ts";
import { rangeOf } from "./ranges.ts";

const NOW = 1_790_000_000_000;

test("a part is read for the range it was chosen in, and nothing else is one", () => {
  const word = `1h.${NOW - 60_000}-${NOW}`;
  expect(readPart(word, rangeOf("1h"))).toEqual({ from: NOW - 60_000, to: NOW });
  expect(readPart(word, rangeOf("7d"))).toBeNull();
  for (const other of ["", "1h", `1h.${NOW}-${NOW}`, `1h.${NOW}-${NOW - 1}`, "1h.1-2", "x.1-2"])
    expect(readPart(other, rangeOf("1h")), other).toBeNull();
});

test("of a part the samples of the shortest range that reaches it are asked for", () => {
  const week = rangeOf("7d");
  expect(reachingRange(week, NOW - 10 * 60_000, NOW).id).toBe("15m");
  expect(reachingRange(week, NOW - 3 * 3_600_000, NOW).id).toBe("6h");
  expect(reachingRange(week, NOW - 9 * 86_400_000, NOW).id).toBe("7d");
  expect(reachingRange(rangeOf("1h"), NOW - 3 * 3_600_000, NOW).id).toBe("1h");
});
