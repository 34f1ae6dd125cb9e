import { expect, test } from "vitest";
import { NO_RISK } from "#protocol/risk.ts";
import type { FleetView } from "#protocol/views.ts";
import { fleetHeadline, lossWords, nodeStateWords, tideOf, tideWords, unsafeWords } from "./risk-words.ts";

const GiB = 1024 ** 3;
const fleet = (over: Partial<FleetView>): FleetView => ({
  at: 0,
  nodes: 3,
  online: 3,
  silent: 0,
  byWork: { safe: 3, moving: 0, risk: 0, lost: 0 },
  risk: NO_RISK,
  worstNode: null,
  upBytesPerSecond: 0,
  downBytesPerSecond: 0,
  activeTransfers: 0,
  doneLastDay: 0,
  failedLastDay: 0,
  checkpointsComplete: 0,
  ...over,
});

test("the headline carries the one number with its unit", () => {
  expect(fleetHeadline(fleet({ risk: { ...NO_RISK, lossMs: 23 * 60_000 } }))).toEqual({
    before: "If every node died now, you would lose ",
    number: "23 minutes",
    after: " of training.",
  });
});

test("nothing at risk and no node at all are different sentences", () => {
  expect(fleetHeadline(fleet({})).before).toBe("If every node died now, you would lose nothing.");
  expect(fleetHeadline(fleet({ nodes: 0 })).before).toBe("No node is watched yet.");
});

test("units are singular for one", () => {
  expect(lossWords(1000)).toBe("1 second");
  expect(lossWords(89_000)).toBe("89 seconds");
  expect(lossWords(120_000)).toBe("2 minutes");
  expect(lossWords(80 * 60_000)).toBe("1 h 20 min");
  expect(unsafeWords({ ...NO_RISK, bytes: GiB, files: 1 })).toBe("1.0 GiB in 1 file is not safe yet");
  expect(unsafeWords(NO_RISK)).toBeNull();
});

test("the tide counts bytes already across as moving, not as waiting", () => {
  const tide = tideOf({ safeBytes: 10 * GiB, movedBytes: GiB, risk: { ...NO_RISK, bytes: 3 * GiB } });
  expect(tide).toEqual({ safe: 10 * GiB, moving: GiB, waiting: 2 * GiB });
  expect(tideWords(tide)).toBe("10.0 GiB safe, 1.0 GiB moving, 2.0 GiB at risk");
});

test("a silent node says since when, whatever its last work state was", () => {
  const row = { state: "silent", work: "safe", risk: NO_RISK, lastSeenAt: 1000, runs: [] } as const;
  expect(nodeStateWords({ ...row, runs: [] }, 41_000)).toEqual({ tone: "lost", text: "silent 40 s" });
});

test("a node that said goodbye with everything safe is merely offline", () => {
  const row = { state: "offline", work: "safe", risk: NO_RISK, lastSeenAt: 1000, runs: [] } as const;
  expect(nodeStateWords({ ...row, runs: [] }, 0)).toEqual({ tone: "quiet", text: "offline" });
  expect(nodeStateWords({ ...row, runs: [], risk: { ...NO_RISK, bytes: 1 } }, 0).tone).toBe("lost");
});
