import { expect, test } from "vitest";
import { Fault } from "../faults/fault.ts";
import { parseRate } from "../wire/read-units.ts";
import { NO_THRESHOLDS } from "./probe.ts";
import { decide, outcomeOf, type Direction, type LinkMeasured } from "./decide-link.ts";

const at = (rate: string, isSteady = true): Direction => ({ rate: { bytesPerSecond: parseRate(rate), isSteady } });
const failed: Direction = { fault: new Fault("LINK_DOWN", { op: "probe", subject: "https://store" }) };
const asked = { up: parseRate("20Mbit"), down: parseRate("50Mbit"), rttMs: null };
const link = (changes: Partial<LinkMeasured> = {}): LinkMeasured => ({
  up: at("30Mbit"),
  down: at("90Mbit"),
  rttMs: 30,
  clockSkewMs: 0,
  ...changes,
});

test("a link that does what is asked of it is accepted", () => {
  expect(decide(link(), asked)).toMatchObject({ outcome: "accept" });
  expect(decide(link({ up: at("20Mbit"), down: at("50Mbit") }), asked)).toMatchObject({ outcome: "accept" });
});

test("a link that is slower is rejected, with both numbers", () => {
  expect(decide(link({ up: at("9Mbit") }), asked)).toEqual({
    outcome: "reject",
    reason: "9.0 Mbps up where 20.0 Mbps are asked for",
  });
  const both = decide(link({ up: at("9Mbit"), down: at("10Mbit") }), asked);
  expect(both.reason).toBe("9.0 Mbps up where 20.0 Mbps are asked for; 10.0 Mbps down where 50.0 Mbps are asked for");
});

test("what lies within the error of measuring is only doubted", () => {
  expect(decide(link({ up: at("18.5Mbit") }), asked)).toMatchObject({ outcome: "warn" });
  expect(decide(link({ up: at("17.9Mbit") }), asked)).toMatchObject({ outcome: "reject" });
});

test("a rate that was still changing rejects only where it was nowhere near", () => {
  expect(decide(link({ down: at("30Mbit", false) }), asked)).toMatchObject({ outcome: "warn" });
  expect(decide(link({ down: at("20Mbit", false) }), asked)).toMatchObject({ outcome: "reject" });
  expect(decide(link({ down: at("60Mbit", false) }), asked)).toMatchObject({ outcome: "accept" });
});

test("what could not be measured never rejects, and is said", () => {
  const verdict = decide(link({ up: failed }), asked);
  expect(verdict.outcome).toBe("warn");
  expect(verdict.reason).toContain("the rate up could not be measured: The connection to the store was lost");
  expect(verdict.reason).not.toContain("https://store");
  expect(decide({ up: failed, down: failed, rttMs: null, clockSkewMs: null }, asked)).toMatchObject({
    outcome: "warn",
  });
});

test("one direction too slow rejects although the other could not be measured", () => {
  expect(decide(link({ up: at("1Mbit"), down: failed }), asked)).toEqual({
    outcome: "reject",
    reason: "1.0 Mbps up where 20.0 Mbps are asked for",
  });
});

test("without thresholds no rate is too low", () => {
  const slow = link({ up: at("10kbit"), down: at("10kbit") });
  expect(decide(slow, NO_THRESHOLDS)).toMatchObject({ outcome: "accept" });
  expect(decide(slow, { ...NO_THRESHOLDS, down: asked.down })).toMatchObject({ outcome: "reject" });
});

test("a clock that is wrong is said and rejects nobody", () => {
  expect(decide(link({ clockSkewMs: -7_200_000 }), asked)).toEqual({
    outcome: "warn",
    reason: "this machine's clock is 2 h ahead of the store's",
  });
  expect(decide(link({ clockSkewMs: 59_000 }), asked)).toMatchObject({ outcome: "accept" });
});

test("a round trip that is too long rejects, within a tenth it is doubted, and one that nobody knows is no reason", () => {
  const near = { ...NO_THRESHOLDS, rttMs: 100 };
  expect(decide(link({ rttMs: 100 }), near)).toMatchObject({ outcome: "accept" });
  expect(decide(link({ rttMs: 109 }), near)).toMatchObject({ outcome: "warn" });
  expect(decide(link({ rttMs: 131 }), near)).toEqual({
    outcome: "reject",
    reason: "a round trip of 131 ms where 100 ms are allowed",
  });
  expect(decide(link({ rttMs: null }), near)).toMatchObject({ outcome: "warn" });
});

test("numbers alone lead to the same verdict as words", () => {
  const rates = [null, 0, 1e6, 2.2e6, 2.25e6, 2.4e6, 2.5e6, 9e6];
  const seen = new Set<string>();
  for (const up of rates) {
    for (const down of rates) {
      for (const rttMs of [null, 20, 105, 111]) {
        for (const isSteady of [true, false]) {
          for (const least of [null, 2.5e6]) {
            const thresholds = { up: least, down: least, rttMs: least === null ? null : 100 };
            const way = (rate: number | null): Direction =>
              rate === null ? failed : { rate: { bytesPerSecond: rate, isSteady } };
            const words = decide({ up: way(up), down: way(down), rttMs, clockSkewMs: 0 }, thresholds);
            const numbers = { up, down, isUpSteady: isSteady, isDownSteady: isSteady, rttMs, clockSkewMs: 0 };
            expect(outcomeOf(numbers, thresholds)).toBe(words.outcome);
            seen.add(words.outcome);
          }
        }
      }
    }
  }
  expect([...seen].toSorted()).toEqual(["accept", "reject", "warn"]);
});
