import { silentAfterMs, unconfirmedAfterMs } from "./report-cadence.ts";
import { workStateOf, type Risk, type WorkState } from "../wire/risk.ts";
import type { RunBacklog } from "../wire/reports.ts";
import type { NodeState } from "../wire/views.ts";
import type { TransferState } from "../wire/transfer.ts";

/**
 * The one derivation of what a node, its runs and its transfers are. The hub derives the state of a node once a second and
 * whenever it hears of it; pages, counts, alerts, metrics and the API read that state and this table, and derive nothing.
 */

/** Whether a node reports in time. */
export type Presence = "heard" | "unconfirmed" | "silent";

export const NODE_STATES: readonly NodeState[] = ["online", "unconfirmed", "silent", "offline", "revoked"];

interface NodeTraits {
  /** Its figures are the present: rates, transfers, CPU. */
  isHeard: boolean;
  /** The hub counts on it: it is given work, and others wait for it. */
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
  /** Its last word; null before the first. Epoch ms, as the others. */
  lastSeenAt: number | null;
  /** Silence counts from here: its last word, or the start of a hub that was away itself. */
  quietSince: number;
  /** The cadence that the hub asked for. */
  reportEveryMs: number;
}

/** Returns what time makes of a node that says nothing. Only a word of the node itself makes it heard again. */
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

/** Whether something would not come back if the node never did. */
export const wouldLose = (risk: Risk): boolean => risk.checkpoints > 0 || risk.lossMs > 0;

/**
 * Returns the work state of a run of a node at `at`, by the node's own clock. What was not safe at the last word of a silent
 * or revoked node is lost as far as anybody can tell. Of one that said goodbye `lost` means: only that node has it, on its disk.
 */
export function workOf(run: RunBacklog, about: { state: NodeState; risk: Risk; at: number }): WorkState {
  const { state, risk, at } = about;
  const isGone = state === "silent" || state === "revoked";
  if (isGone && wouldLose(risk)) return "lost";
  if (state === "offline" && risk.checkpoints > 0) return "lost";
  return workStateOf(run, at);
}

/** The one condition of a node that its pill names and that counts and filters count. Each node has exactly one. */
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

/** `stranded`: it said goodbye with captured work that is not safe. */
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

/** What a run is: the work of its writer while that is heard, else that nobody confirms it. */
export type RunCondition = "lost" | "stranded" | "writer-silent" | "unconfirmed" | "behind" | "uploading" | "safe";

/** `writerState` is null where no node writes it. `stranded`: only the disk of a node that stopped has its newest work. */
export function runConditionOf(run: { writerState: NodeState | null; work: WorkState }): RunCondition {
  const { writerState, work } = run;
  if (writerState === "unconfirmed") return "unconfirmed";
  // It said goodbye: what it captured is on its disk, and comes with its next start.
  if (work === "lost") return writerState === "offline" ? "stranded" : "lost";
  if (writerState === "silent") return "writer-silent";
  // What lies captured on a disk is not on its way while its node is away.
  if (writerState === null || !isHeard(writerState)) return "safe";
  return work === "risk" ? "behind" : work === "moving" ? "uploading" : "safe";
}

/** What a transfer does now. `unheard`: it was running by the last word of a node that is not heard. */
export type TransferPhase = "moving" | "unheard" | Exclude<TransferState, "running">;

/** `node` is null where its node is not known. */
export function transferPhaseOf(state: TransferState, node: NodeState | null): TransferPhase {
  if (state !== "running") return state;
  return node === null || isHeard(node) ? "moving" : "unheard";
}
