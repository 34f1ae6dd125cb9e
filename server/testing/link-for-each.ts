import { expect } from "vitest";
import type { PercentileRow, PercentilesInput } from "#protocol/history/history.ts";
import type { Measured } from "#protocol/wire/measured.ts";
import { runName } from "#protocol/base/names.ts";
import { NO_THRESHOLDS } from "#protocol/links/probe.ts";
import type { NodeEvent, TransferProgress } from "#protocol/wire/reports.ts";
import { node, nodeForEach, profileId, test } from "./node-for-each.ts";
import { callAs, report, type TestNode } from "./open-test-hub.ts";
import { newId } from "../platform/random-id.ts";

/** For tests of the link history: in every test a hub with one node, and the reports of a node about transfers and probes. */
export const run = runName.parse("llama");
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

export { node, profileId, test };
let seq = 0;

/** Registers the hooks that run before and after the tests of a file. */
export function linkForEach(): void {
  nodeForEach();
}

export type Ended = Extract<NodeEvent, { type: "transfer-ended" }>;
export const ways: Measured = {
  engine: "tidemark",
  tookMs: 10_000,
  sentBytes: 8_000_000,
  steadyBytesPerSecond: 1_000_000,
  rampMs: 1_500,
  isSteady: true,
  parts: 3,
  partBytes: 4_000_000,
  rttMs: 40,
};
export const end = (who: TestNode, changes: Partial<Ended> = {}) => {
  const at = test.hub.now();
  const event: Ended = {
    type: "transfer-ended",
    seq: ++seq,
    at,
    transferId: newId(),
    direction: "upload",
    state: "done",
    checkpointId: newId(),
    run,
    step: 5,
    bytes: 8_000_000,
    files: 1,
    sentBytes: 8_000_000,
    startedAt: at - 20_000,
    retries: 2,
    connections: 6,
    startedBy: "queue",
    fault: null,
    measured: ways,
    ...changes,
  };
  return callAs(test.hub, who.caller).node.record({ events: [event] });
};
export const steady = (bytesPerSecond: number, more: Partial<Measured> = {}): Partial<Ended> => ({
  measured: { ...ways, steadyBytesPerSecond: bytesPerSecond, ...more },
});
export const probe = (who: TestNode, up: number | null, down: number | null) =>
  callAs(test.hub, who.caller).node.probed({
    id: newId(),
    machineId: null,
    outcome: "accept",
    reason: "",
    rttMs: 25,
    clockSkewMs: 0,
    up,
    down,
    thresholds: NO_THRESHOLDS,
    attempts: 2,
    tookMs: 21_000,
    manner: {
      engine: "tidemark",
      up: { rampMs: 500, isSteady: true, movedBytes: 5_000, connections: 9 },
      down: null,
    },
  });
export const moving = (direction: "upload" | "download"): TransferProgress => ({
  id: `transfer-${direction}`,
  direction,
  state: "running",
  checkpointId: "checkpoint-0001",
  run,
  step: 5,
  bytesDone: 1,
  bytesTotal: 5_000_000,
  filesDone: 0,
  filesTotal: 2,
  currentPath: null,
  bytesPerSecond: 1,
  startedAt: 1,
  connections: 4,
  retries: 0,
  pieces: "",
  stalledMs: null,
  fault: null,
  startedBy: "queue",
});
export const say = (who: TestNode, changes: object) =>
  callAs(test.hub, who.caller).node.progress({ ...report(test.hub), ...changes });

export const query = (changes: Partial<PercentilesInput> = {}): PercentilesInput => ({
  from: test.hub.now() - 60 * DAY,
  to: test.hub.now() + 1,
  measures: ["up", "down", "rtt"],
  sources: null,
  nodeIds: null,
  profileId: null,
  provider: null,
  region: null,
  engine: null,
  by: "all",
  limit: 1_000,
  ...changes,
});
export const ask = async (changes: Partial<PercentilesInput> = {}): Promise<PercentileRow[]> =>
  (await callAs(test.hub, "viewer").history.percentiles(query(changes))).rows;
export const list = (changes: object = {}) =>
  callAs(test.hub, "viewer").history.list({
    from: test.hub.now() - 60 * DAY,
    to: test.hub.now() + 1,
    nodeId: null,
    profileId: null,
    region: null,
    engine: null,
    kinds: [],
    outcome: null,
    cursor: null,
    limit: 100,
    ...changes,
  });
export const close = (value: number) => expect.closeTo(value, -Math.floor(Math.log10(value * 0.02)) - 1) as number;
