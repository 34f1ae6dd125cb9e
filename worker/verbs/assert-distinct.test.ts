import { expect, test } from "vitest";
import { assertDistinct } from "./assert-distinct.ts";

const MANY = 30_000;
const names = Array.from({ length: MANY }, (_, index) => `run-${index % 7}/Checkpoint-${index}/é-${index}.bin`);

test("very many names that are all different are that", () => {
  expect(() => assertDistinct(names)).not.toThrow();
});

test.each([
  ["RUN-1/checkpoint-1/É-1.BIN", "run-1/Checkpoint-1/é-1.bin"],
  ["run-2/Checkpoint-2/e\u0301-2.bin", "run-2/Checkpoint-2/é-2.bin"],
  ["run-3/checkpoint-3", "run-3/checkpoint-3/"],
  ["RUN-4", "RUN-4/"],
  ["run-5/Checkpoint-5/é-5.bin/a", "run-5/Checkpoint-5/é-5.bin"],
])("%s among very many is refused", (name, other) => {
  for (const all of [
    [name, ...names],
    [...names, name],
  ]) {
    expect(() => assertDistinct(all)).toThrow(expect.objectContaining({ code: "HOSTILE_NAME" }));
  }
  const few = names.filter((one) => other.startsWith(one) || one.startsWith(other) || one.includes("-77"));
  expect(() => assertDistinct([...few, ...names.slice(0, 6), name])).toThrow(
    expect.objectContaining({ code: "HOSTILE_NAME" }),
  );
});
