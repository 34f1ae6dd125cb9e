import { expect, test } from "vitest";
import { PRESETS } from "#storage/providers.ts";
import { planInput } from "./send-stdin.ts";

const MIB = 1024 * 1024;
const plan = (memory: number, connections: number, wished: number | null = null) =>
  planInput({ traits: PRESETS.minio.traits, memoryBytes: memory, connections, wishedPartBytes: wished });

test.each([
  [128 * MIB, 8, null],
  [128 * MIB, 1, null],
  [128 * MIB, 96, null],
  [32 * MIB, 8, null],
  [15 * MIB, 8, null],
  [1024 * MIB, 8, 64 * MIB],
  [200 * MIB, 96, 64 * MIB],
] as const)(
  "never takes more memory than it may: %i bytes, %i connections, parts of %j",
  (memory, connections, wished) => {
    const { partBytes, partsAtATime, memoryBytes } = plan(memory, connections, wished);
    expect(memoryBytes).toBeLessThanOrEqual(memory);
    expect(partsAtATime).toBeGreaterThanOrEqual(1);
    expect(partsAtATime).toBeLessThanOrEqual(connections);
    expect(partBytes).toBe(wished ?? partBytes);
    expect(partBytes).toBeGreaterThanOrEqual(5 * MIB);
  },
);

test("a budget without room for one part at a time is refused with what it would take", () => {
  expect(() => plan(14 * MIB, 8)).toThrow("need at least 15.0 MiB");
  expect(() => plan(128 * MIB, 8, 64 * MIB)).toThrow("need at least 192 MiB");
});

test("the longest input follows from the parts a store takes", () => {
  const traits = { ...PRESETS.minio.traits, maxParts: 1000 };
  const { mostBytes, partBytes } = planInput({ traits, memoryBytes: 128 * MIB, connections: 8, wishedPartBytes: null });
  expect(mostBytes).toBe(1000 * partBytes);
});
