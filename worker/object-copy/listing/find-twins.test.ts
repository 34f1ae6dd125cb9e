import { expect, test } from "vitest";
import { findTwins } from "./find-twins.ts";

const MANY = 30_000;
const names = Array.from({ length: MANY }, (_, index) => `run-${index % 7}/Checkpoint-${index}/é-${index}.bin`);

test("very many names that are all different are that", () => {
  expect(findTwins(names).size).toBe(0);
});

test.each([
  ["RUN-1/checkpoint-1/É-1.BIN", "run-1/Checkpoint-1/é-1.bin"],
  ["run-2/Checkpoint-2/e\u0301-2.bin", "run-2/Checkpoint-2/é-2.bin"],
  ["run-3/checkpoint-3", "run-3/Checkpoint-3/"],
  ["RUN-4", "run-4/"],
  ["run-5/Checkpoint-5/é-5.bin/a", "run-5/Checkpoint-5/é-5.bin"],
])("%s among very many is one that a disk may take for another, and the only one", (name, other) => {
  const found = findTwins([...names, name]);
  expect([...found.keys()]).toEqual([MANY]);
  const twin = found.get(MANY) ?? "";
  expect(twin.startsWith(other) || other.startsWith(twin)).toBe(true);
  // Told first, those that come later are the twins of it.
  expect(findTwins([name, ...names]).size).toBeGreaterThan(0);
});
