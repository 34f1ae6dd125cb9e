import {
  isHeard,
  nodeConditionOf,
  runConditionOf,
  wouldLose,
  type NodeCondition,
} from "#protocol/fleet/node-status.ts";
import type { Risk, WorkState } from "#protocol/wire/risk.ts";
import type { FleetView, NodeRow, NodeState } from "#protocol/wire/views.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { compareNames } from "./compare-names.ts";
import type { Tone } from "../_ui/indicators/mark.tsx";
import type { Tide } from "../_ui/indicators/tide-shares.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

/** Wording of risk. Bytes: captured but not safe. Time: training that would have to be repeated. */

export const plural = (count: number, one: string, many: string): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** Formats the loss in the headline with its unit spelled out: `23 minutes`, `48 seconds`, `1 h 20 min`. */
export function lossWords(lossMs: number): string {
  const seconds = Math.round(lossMs / 1000);
  if (seconds < 90) return plural(seconds, "second", "seconds");
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return plural(minutes, "minute", "minutes");
  return formatDuration(lossMs);
}

export interface Headline {
  before: string;
  /** The emphasized number; null when there is nothing to lose. */
  number: string | null;
  after: string;
}

export function fleetHeadline(fleet: FleetView): Headline {
  if (fleet.nodes === 0) return { before: "No node is watched yet.", number: null, after: "" };
  if (fleet.risk.lossMs < 1000 && fleet.risk.bytes === 0)
    return { before: "If every node died now, you would lose nothing.", number: null, after: "" };
  return {
    before: "If every node died now, you would lose ",
    number: lossWords(fleet.risk.lossMs),
    after: " of training.",
  };
}

/** Says what is lost if a node dies now; for a node that does not report, what is lost if it already died. */
export function nodeHeadline(
  { name, risk, state, lastSeenAt }: Pick<NodeRow, "name" | "risk" | "state" | "lastSeenAt">,
  nowMs: number,
): Headline {
  const isNothing = risk.lossMs < 1000 && risk.bytes === 0;
  const number = isNothing ? null : lossWords(risk.lossMs);
  const quiet = lastSeenAt === null ? "yet" : `for ${formatDuration(Math.max(0, nowMs - lastSeenAt))}`;
  switch (state) {
    case "online":
      return {
        before: `If ${name} died now, you would lose ${isNothing ? "nothing." : ""}`,
        number,
        after: isNothing ? "" : " of training.",
      };
    case "unconfirmed":
    case "silent":
      return {
        before: `No report from ${name} ${quiet}. If it is gone, you ${isNothing ? "lost nothing." : "lost "}`,
        number,
        after: isNothing ? "" : " of training.",
      };
    case "offline":
    case "revoked":
      return {
        before: `${name} has stopped. ${isNothing ? "Everything it trained is safe." : "Not safe when it stopped: "}`,
        number,
        after: isNothing ? "" : " of training.",
      };
  }
}

/** Returns `3.1 GiB in 2 files is not safe yet`; null when everything captured is safe. */
export function unsafeWords(risk: Risk): string | null {
  if (risk.bytes === 0 && risk.files === 0) return null;
  return `${formatBytes(risk.bytes)} in ${plural(risk.files, "file", "files")} ${risk.files === 1 ? "is" : "are"} not safe yet`;
}

/** Returns how long the oldest capture that is not safe has waited, as `14 min`; null when none waits. */
export function backlogAge(risk: Risk, nowMs: number): string | null {
  return risk.oldestUnsafeAt === null ? null : formatDuration(Math.max(0, nowMs - risk.oldestUnsafeAt));
}

/** Returns the tide gauge of a node or run. `movedBytes` counts as moving only while the writer reports. */
export function tideOf(row: { safeBytes: number; movedBytes: number; risk: Risk }, writer: NodeState): Tide {
  const moving = isHeard(writer) ? row.movedBytes : 0;
  return { safe: row.safeBytes, moving, waiting: Math.max(0, row.risk.bytes - moving) };
}

export function tideWords(tide: Tide): string {
  if (tide.safe + tide.moving + tide.waiting === 0) return "nothing captured yet";
  return [
    `${formatBytes(tide.safe)} safe`,
    ...(tide.moving > 0 ? [`${formatBytes(tide.moving)} moving`] : []),
    ...(tide.waiting > 0 ? [`${formatBytes(tide.waiting)} at risk`] : []),
  ].join(", ");
}

/** Word and tone of each node condition for counts, filters and tags, worst first. */
export const CONDITION_WORDS: Readonly<Record<NodeCondition, { tone: Tone; text: string }>> = {
  silent: { tone: "lost", text: "silent" },
  stranded: { tone: "lost", text: "offline, not safe" },
  unconfirmed: { tone: "risk", text: "unconfirmed" },
  behind: { tone: "risk", text: "behind" },
  uploading: { tone: "moving", text: "uploading" },
  safe: { tone: "safe", text: "safe" },
  idle: { tone: "quiet", text: "idle" },
  offline: { tone: "quiet", text: "offline" },
  revoked: { tone: "quiet", text: "revoked" },
};

const behindWords = ({ lossMs }: Risk): string =>
  lossMs < 1000 ? CONDITION_WORDS.behind.text : `${formatDuration(lossMs)} behind`;

/** Returns word and tone of a node's condition. A node that does not report shows for how long, never an outdated speed. */
export function nodeStateWords(
  row: Pick<NodeRow, "state" | "work" | "risk" | "lastSeenAt" | "runs">,
  nowMs: number,
): { tone: Tone; text: string } {
  const condition = nodeConditionOf(row);
  const { tone, text } = CONDITION_WORDS[condition];
  if (condition === "behind") return { tone, text: behindWords(row.risk) };
  const isQuiet = condition === "silent" || condition === "unconfirmed";
  if (!isQuiet || row.lastSeenAt === null) return { tone, text };
  return { tone, text: `${text} ${formatDuration(Math.max(0, nowMs - row.lastSeenAt))}` };
}

/** Returns word and tone of a run's condition. */
export function runStateWords(run: { writerState: NodeState | null; work: WorkState; risk: Risk }): {
  tone: Tone;
  text: string;
} {
  const condition = runConditionOf(run);
  switch (condition) {
    case "lost":
      return { tone: "lost", text: wouldLose(run.risk) ? `${formatDuration(run.risk.lossMs)} lost` : "lost" };
    case "stranded":
      return { tone: "lost", text: "writer stopped, not safe" };
    case "writer-silent":
      return { tone: "lost", text: "writer silent" };
    case "behind":
      return { tone: "risk", text: behindWords(run.risk) };
    case "unconfirmed":
    case "uploading":
    case "safe":
      return CONDITION_WORDS[condition];
  }
}

/** Compares nodes: offline and revoked ones last, then by the oldest unsafe capture, then by name. */
export function byBacklogAge(a: NodeRow, b: NodeRow): number {
  return (
    stateRank(a.state) - stateRank(b.state) ||
    (a.risk.oldestUnsafeAt ?? LATE) - (b.risk.oldestUnsafeAt ?? LATE) ||
    compareNames(a.name, b.name)
  );
}

const LATE = Number.MAX_SAFE_INTEGER;
const stateRank = (state: NodeState): number => (state === "revoked" ? 2 : state === "offline" ? 1 : 0);
