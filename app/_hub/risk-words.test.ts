import { expect, test } from "vitest";
import { NO_RISK } from "#protocol/wire/risk.ts";
import { fleetView } from "./live/make-fleet-view.ts";
import { nodeRow } from "#protocol/testing/make-node-row.ts";
import {
  fleetHeadline,
  lossWords,
  nodeHeadline,
  nodeStateWords,
  runStateWords,
  tideOf,
  tideWords,
  unsafeWords,
} from "./risk-words.ts";

const GiB = 1024 ** 3;

test("the headline carries the one number with its unit", () => {
  expect(fleetHeadline(fleetView({ risk: { ...NO_RISK, lossMs: 23 * 60_000 } }))).toEqual({
    before: "If every node died now, you would lose ",
    number: "23 minutes",
    after: " of training.",
  });
});

test("nothing at risk and no node at all are different sentences", () => {
  expect(fleetHeadline(fleetView({})).before).toBe("If every node died now, you would lose nothing.");
  expect(fleetHeadline(fleetView({ nodes: 0 })).before).toBe("No node is watched yet.");
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
  const row = { safeBytes: 10 * GiB, movedBytes: GiB, risk: { ...NO_RISK, bytes: 3 * GiB } };
  const tide = tideOf(row, "online");
  expect(tide).toEqual({ safe: 10 * GiB, moving: GiB, waiting: 2 * GiB });
  // Nothing moves of a node that is not heard; what has not arrived is at risk as a whole.
  expect(tideOf(row, "unconfirmed")).toEqual({ safe: 10 * GiB, moving: 0, waiting: 3 * GiB });
  expect(tideWords(tide)).toBe("10.0 GiB safe, 1.0 GiB moving, 2.0 GiB at risk");
});

test("a silent node says since when, whatever its last work state was", () => {
  const row = nodeRow({ state: "silent", lastSeenAt: 1000 });
  expect(nodeStateWords(row, 41_000)).toEqual({ tone: "lost", text: "silent 40 s" });
});

test("one that is late with its report says since when, and no upload", () => {
  const row = nodeRow({ state: "unconfirmed", lastSeenAt: 1000, work: "moving" });
  expect(nodeStateWords(row, 13_000)).toEqual({ tone: "risk", text: "unconfirmed 12 s" });
});

test("nobody is told what a node would lose if it died that is not heard", () => {
  const node = nodeRow({ lastSeenAt: 0, risk: { ...NO_RISK, lossMs: 120_000 } });
  const before = (state: typeof node.state) => nodeHeadline({ ...node, state }, 130_000).before;
  expect(before("online")).toBe("If gpu-7 died now, you would lose ");
  expect(before("unconfirmed")).toBe("No report from gpu-7 for 2 min. If it is gone, you lost ");
  expect(before("silent")).toBe("No report from gpu-7 for 2 min. If it is gone, you lost ");
  expect(before("offline")).toBe("gpu-7 has stopped. Not safe when it stopped: ");
});

test("a run is called what its writer is, once", () => {
  const run = { work: "lost", risk: { ...NO_RISK, lossMs: 120_000 } } as const;
  expect(runStateWords({ ...run, writerState: "silent" })).toEqual({ tone: "lost", text: "2 min lost" });
  expect(runStateWords({ ...run, work: "moving", writerState: "unconfirmed" }).text).toBe("unconfirmed");
  expect(runStateWords({ ...run, work: "moving", writerState: "online" }).text).toBe("uploading");
});

test("a node that said goodbye with everything safe is merely offline", () => {
  const row = nodeRow({ state: "offline", lastSeenAt: 1000 });
  expect(nodeStateWords(row, 0)).toEqual({ tone: "quiet", text: "offline" });
  expect(nodeStateWords({ ...row, work: "lost" }, 0)).toEqual({ tone: "lost", text: "offline, not safe" });
});
