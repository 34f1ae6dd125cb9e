import { silentAfterMs, unconfirmedAfterMs } from "./report-cadence.ts";
import { workStateOf, type Risk, type WorkState } from "../wire/risk.ts";
import type { RunBacklog } from "../wire/reports.ts";
import type { NodeState } from "../wire/views.ts";
import type { TransferState } from "../wire/transfer.ts";

/**
 * The only derivation of the states of nodes, runs and transfers. The hub derives a node's state once a second and after
 * each report. Pages, counts, alerts, metrics and the API read that state and this table, and derive nothing themselves.
 */

/** Whether a node's reports arrive in time. */
export type Presence = "heard" | "unconfirmed" | "silent";

export const NODE_STATES: readonly NodeState[] = ["online", "unconfirmed", "silent", "offline", "revoked"];

interface NodeTraits {
  /** Whether its figures are current: rates, transfers, CPU. */
  isHeard: boolean;
  /** Whether the hub relies on it: assigns work to it and waits for it. */
  isExpected: boolean;
}

export const NODE_TRAITS: Readonly<Record<NodeState, NodeTraits>> = {
  online: { isHeard: true, isExpected: true },
  unconfirmed: { isHeard: false, isExpected: true },
  silent: { isHeard: false, isExpected: false },
  offline: { isHeard: false, isExpected: false },
  revoked: { isHeard: false, isExpected: false },
};

export const isHeard = (state: NodeState): boolean => NODE_TRAITS[state].isHeard;
export const isExpected = (state: NodeState): boolean => NODE_TRAITS[state].isExpected;

export interface Words {
  presence: Presence;
  /** Time of its last report, null before the first. All times are epoch ms. */
  lastSeenAt: number | null;
  /** Start of its silence: its last report, or the start of the hub if the hub was away itself. */
  quietSince: number;
  /** Reporting interval that the hub asked for. */
  reportEveryMs: number;
}

/** Returns the presence of a node after a period without reports. Only a report of the node makes it `heard` again. */
export function presenceAt({ presence, lastSeenAt, quietSince, reportEveryMs }: Words, now: number): Presence {
  if (presence === "silent" || now - quietSince > silentAfterMs(reportEveryMs)) return "silent";
  if (presence === "unconfirmed") return "unconfirmed";
  return now - (lastSeenAt ?? quietSince) > unconfirmedAfterMs(reportEveryMs) ? "unconfirmed" : "heard";
}

export interface Known {
  revokedAt: number | null;
  leftAt: number | null;
  presence: Presence;
}

export function nodeStateOf({ revokedAt, leftAt, presence }: Known): NodeState {
  if (revokedAt !== null) return "revoked";
  if (leftAt !== null) return "offline";
  return presence === "heard" ? "online" : presence;
}

/** Returns whether work would be lost if the node never came back. */
export const wouldLose = (risk: Risk): boolean => risk.checkpoints > 0 || risk.lossMs > 0;

/**
 * Returns the work state of a run of a node at `at`, by the node's own clock. Unsafe work of a silent or revoked node counts
 * as lost. For a node that announced its end, `lost` means that the work exists only on that node's disk.
 */
export function workOf(run: RunBacklog, about: { state: NodeState; risk: Risk; at: number }): WorkState {
  const { state, risk, at } = about;
  const isGone = state === "silent" || state === "revoked";
  if (isGone && wouldLose(risk)) return "lost";
  if (state === "offline" && risk.checkpoints > 0) return "lost";
  return workStateOf(run, at);
}

/** Conditions of a node: its status label, counts and filters all use them. Each node has exactly one. */
export const NODE_CONDITIONS = [
  "silent",
  "stranded",
  "unconfirmed",
  "behind",
  "uploading",
  "safe",
  "idle",
  "offline",
  "revoked",
] as const;
export type NodeCondition = (typeof NODE_CONDITIONS)[number];

const WORK_CONDITIONS: Readonly<Record<WorkState, NodeCondition>> = {
  safe: "safe",
  moving: "uploading",
  risk: "behind",
  lost: "behind",
};

/** Returns the condition of a node. `stranded`: it announced its end and left captured work that is not safe. */
export function nodeConditionOf(node: { state: NodeState; work: WorkState; runs: readonly unknown[] }): NodeCondition {
  switch (node.state) {
    case "online":
      return node.runs.length === 0 ? "idle" : WORK_CONDITIONS[node.work];
    case "offline":
      return node.work === "lost" ? "stranded" : "offline";
    case "unconfirmed":
    case "silent":
    case "revoked":
      return node.state;
  }
}

/** Condition of a run: the work state of its writer while that reports, else that nothing is confirmed. */
export type RunCondition = "lost" | "stranded" | "writer-silent" | "unconfirmed" | "behind" | "uploading" | "safe";

/**
 * Returns the condition of a run. `writerState` is null when no node writes it. `stranded`: only the disk of a stopped node
 * has its newest work.
 */
export function runConditionOf(run: { writerState: NodeState | null; work: WorkState }): RunCondition {
  const { writerState, work } = run;
  if (writerState === "unconfirmed") return "unconfirmed";
  // The node announced its end: the captured work is on its disk and is uploaded at its next start.
  if (work === "lost") return writerState === "offline" ? "stranded" : "lost";
  if (writerState === "silent") return "writer-silent";
  // Captured work on the disk of an absent node is not being uploaded.
  if (writerState === null || !isHeard(writerState)) return "safe";
  return work === "risk" ? "behind" : work === "moving" ? "uploading" : "safe";
}

/** Present activity of a transfer. `unheard`: it ran at the last report of a node that no longer reports. */
export type TransferPhase = "moving" | "unheard" | Exclude<TransferState, "running">;

/** Returns the phase of a transfer. `node` is null when its node is unknown. */
export function transferPhaseOf(state: TransferState, node: NodeState | null): TransferPhase {
  if (state !== "running") return state;
  return node === null || isHeard(node) ? "moving" : "unheard";
}
