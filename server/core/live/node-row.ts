import { isHeard, transferPhaseOf, workOf } from "#protocol/fleet/node-status.ts";
import { addRisks, type Risk, type WorkState } from "#protocol/wire/risk.ts";
import type { NodeRow, NodeRunView } from "#protocol/wire/views.ts";
import { gpuOf, HISTORY_POINTS, risksOf, riskTimeOf, stateOf, type LiveNode } from "./live-node.ts";

const WORK_ORDER: readonly WorkState[] = ["safe", "moving", "risk", "lost"];

/** Tells whether a node may be the writer of a run. */
export interface WriterLookup {
  mayWriteNow(run: string, nodeId: string): boolean;
}

/** Returns the worst of some work states. */
const worstOf = (states: readonly WorkState[]): WorkState =>
  WORK_ORDER[Math.max(0, ...states.map((state) => WORK_ORDER.indexOf(state)))] ?? "safe";

function runViewsOf(writers: WriterLookup, node: LiveNode, now: number): NodeRunView[] {
  const risks = risksOf(node, now);
  const state = stateOf(node);
  return (node.report?.runs ?? []).map((run, index) => {
    const risk = risks[index] ?? addRisks([]);
    return {
      run: run.run,
      writerEpoch: run.writerEpoch,
      isWriter: writers.mayWriteNow(run.run, node.id),
      localStep: run.localStep,
      localAt: run.localAt,
      safeStep: run.safeStep,
      safeAt: run.safeAt,
      safeBytes: run.safeBytes,
      movedBytes: run.movedBytes,
      intervalMs: run.intervalMs,
      leastIntervalMs: run.leastIntervalMs ?? null,
      work: workOf(run, { state, risk, at: riskTimeOf(node, now) }),
      risk,
    };
  });
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Returns the row of a node at `now`, for the pages and the API. */
export function nodeRowOf(writers: WriterLookup, node: LiveNode, now: number): NodeRow {
  const runs = runViewsOf(writers, node, now);
  const { report } = node;
  const state = stateOf(node);
  const isNow = isHeard(state);
  const risk: Risk = addRisks(runs.map((run) => run.risk));
  const padding = Array.from({ length: HISTORY_POINTS - node.history.length }, () => 0);
  return {
    id: node.id,
    name: node.name,
    state,
    lastSeenAt: node.lastSeenAt,
    enrolledAt: node.enrolledAt,
    tokenId: node.tokenId,
    fleet: node.fleet,
    identity: node.identity,
    mayWrite: node.mayWrite,
    profileId: node.profileId,
    profileName: node.profileName,
    facts: { ...node.facts, gpu: gpuOf(node.facts) },
    // A stopped node is not blamed for a run that another node has taken over.
    work: worstOf(runs.filter(({ isWriter }) => isWriter || state !== "offline").map((run) => run.work)),
    runs,
    risk,
    safeBytes: sum(runs.map((run) => run.safeBytes)),
    movedBytes: sum(runs.map((run) => run.movedBytes)),
    upBytesPerSecond: isNow ? Math.round(report?.upBytesPerSecond ?? 0) : 0,
    downBytesPerSecond: isNow ? Math.round(report?.downBytesPerSecond ?? 0) : 0,
    rttMs: isNow ? (report?.rttMs ?? null) : null,
    disk: report?.disk ?? null,
    cpuPercent: isNow ? (report?.cpuPercent ?? null) : null,
    activeTransfers: isNow
      ? (report?.transfers.filter((one) => transferPhaseOf(one.state, state) === "moving").length ?? 0)
      : 0,
    upHistory: [...padding, ...node.history],
  };
}
