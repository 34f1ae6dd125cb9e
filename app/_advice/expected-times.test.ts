import { expect, test } from "vitest";
import { expectedTimes } from "./expected-times.ts";

test("half of the nodes are done after the time of the middle one, nine of ten after that of a slow one", () => {
  const rates = Array.from({ length: 11 }, (_, at) => (at + 1) * 1e6);
  expect(expectedTimes({ rates }, 12e6)).toEqual({ p50: 2_000, p90: 6_000 });
  expect(expectedTimes({ rates: [1e6, 3e6] }, 2e6)?.p50).toBe(1_000);
});

test("nothing is expected of a fleet that nobody measured", () => {
  expect(expectedTimes({ rates: [] }, 1)).toBeNull();
});
