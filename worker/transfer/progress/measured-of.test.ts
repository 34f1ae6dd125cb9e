import { expect, test } from "vitest";
import { measured } from "#protocol/wire/measured.ts";
import { measuredOf } from "./measured-of.ts";
import { createProgressCounters } from "./transfer-progress.ts";

test("a transfer tells what it sent, in how long, in which parts, and nothing when no byte moved", () => {
  let nowMs = 1_000;
  const counters = createProgressCounters(
    [
      { path: "a", sizeBytes: 2_500, partCount: 3 },
      { path: "b", sizeBytes: 0, partCount: 0 },
    ],
    () => nowMs,
  );
  const engine = { httpClient: { rttMs: () => 12 } } as Parameters<typeof measuredOf>[1]["engine"];
  expect(measuredOf(counters, { engine, partBytes: null })).toBeNull();
  counters.moved(1_000);
  nowMs += 4_000;
  counters.moved(1_500);
  // Bytes that are taken back, to be sent again, count as sent.
  counters.moved(-500);
  const told = measuredOf(counters, { engine, partBytes: counters.largestPartBytes });
  expect(told).toMatchObject({
    engine: "tidemark",
    sentBytes: 2_500,
    tookMs: 4_000,
    parts: 3,
    partBytes: 834,
    rttMs: 12,
  });
  expect(measured.safeParse(told).success).toBe(true);
  expect(measuredOf(null, { engine: null, partBytes: null })).toBeNull();
});
