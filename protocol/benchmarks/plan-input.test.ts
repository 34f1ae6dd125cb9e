import { expect, it } from "vitest";
import { benchSettings, newBenchSettings, USUAL_SETTINGS } from "./plan-input.ts";
import { BENCH_PRESETS, LEAST_PART_BYTES, PART_TOO_SHORT } from "./presets.ts";

it("a new benchmark has parts that S3 accepts, and a stored one may have shorter ones", () => {
  const short = { ...USUAL_SETTINGS, partBytes: 5_000_000 };
  expect(newBenchSettings.safeParse(short).error?.issues[0]?.message).toBe(PART_TOO_SHORT);
  expect(benchSettings.safeParse(short).success).toBe(true);
  expect(newBenchSettings.safeParse({ ...short, partBytes: LEAST_PART_BYTES }).success).toBe(true);
});

it("every preset can be started", () => {
  for (const { sizeBytes, partBytes, connections } of Object.values(BENCH_PRESETS)) {
    const settings = { ...USUAL_SETTINGS, sizeBytes, partBytes, connections };
    expect(newBenchSettings.safeParse(settings).success).toBe(true);
  }
});
