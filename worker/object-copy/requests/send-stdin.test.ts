import { expect, test } from "vitest";
import { PRESETS } from "#storage/providers/providers.ts";
import { planInput } from "./send-stdin.ts";

const MIB = 1024 * 1024;
const plan = (memory: number, connections: number | null, requested: number | null = null) =>
  planInput({ traits: PRESETS.minio.traits, memoryBytes: memory, connections, requestedPartBytes: requested });

test.each([
  [128 * MIB, 8, null],
  [128 * MIB, 1, null],
  [128 * MIB, 96, null],
  [32 * MIB, 8, null],
  [11 * MIB, 8, null],
  [64 * MIB, null, null],
  [1024 * MIB, 8, 64 * MIB],
  [200 * MIB, 96, 64 * MIB],
] as const)(
  "never takes more memory than it may: %i bytes, %j connections, parts of %j",
  (memory, connections, requested) => {
    const { partBytes, partsAtATime, memoryBytes } = plan(memory, connections, requested);
    expect(memoryBytes).toBeLessThanOrEqual(memory);
    expect(partsAtATime).toBeGreaterThanOrEqual(1);
    expect(partsAtATime).toBeLessThanOrEqual(connections ?? 96);
    expect(partBytes).toBe(requested ?? partBytes);
    expect(partBytes).toBeGreaterThanOrEqual(5 * MIB);
  },
);

test("a budget without room for one part on its way and one that fills is refused with what it would take", () => {
  expect(() => plan(9 * MIB, 8)).toThrow("need at least 10.0 MiB");
  expect(() => plan(120 * MIB, 8, 64 * MIB)).toThrow("need at least 128 MiB");
  expect(plan(128 * MIB, 8, 64 * MIB)).toMatchObject({ partsAtATime: 1, memoryBytes: 128 * MIB });
});

test("where nobody says how many connections, there are as many parts at a time as the memory holds", () => {
  expect(plan(128 * MIB, null)).toMatchObject({ partBytes: 10 * MIB, partsAtATime: 10 });
  expect(plan(1024 * MIB, null)).toMatchObject({ partBytes: 16 * MIB, partsAtATime: 55 });
});

test("the longest input follows from the parts a store takes", () => {
  const traits = { ...PRESETS.minio.traits, maxParts: 1000 };
  const { mostBytes, partBytes } = planInput({
    traits,
    memoryBytes: 128 * MIB,
    connections: 8,
    requestedPartBytes: null,
  });
  expect(mostBytes).toBe(1000 * partBytes);
});
