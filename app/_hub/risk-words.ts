import type { Risk, WorkState } from "#protocol/risk.ts";
import type { FleetView, NodeRow, NodeState } from "#protocol/views.ts";
import { formatCount, formatDuration } from "#protocol/units.ts";
import { compareNames } from "./compare-names.ts";
import type { Tone } from "../_ui/mark.tsx";
import type { Tide } from "../_ui/tide-shares.ts";
import { formatBytes } from "../_ui/sizes.ts";

/** What is at risk, in sentences. Bytes: captured and not safe. Time: training that would have to be repeated. */

const plural = (count: number, one: string, many: string): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** `23 minutes`, `48 seconds`, `1 h 20 min`: the one number of the headline, with its unit spelled out. */
export function lossWords(lossMs: number): string {
  const seconds = Math.round(lossMs / 1000);
  if (seconds < 90) return plural(seconds, "second", "seconds");
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return plural(minutes, "minute", "minutes");
  return formatDuration(lossMs);
}

export interface Headline {
  before: string;
  /** The number that matters; null when there is nothing to lose. */
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

export function nodeHeadline(name: string, risk: Risk): Headline {
  if (risk.lossMs < 1000 && risk.bytes === 0)
    return { before: `If ${name} died now, you would lose nothing.`, number: null, after: "" };
  return {
    before: `If ${name} died now, you would lose `,
    number: lossWords(risk.lossMs),
    after: " of training.",
  };
}

/** `3.1 GiB in 2 files is not safe yet`; null when everything captured is safe. */
export function unsafeWords(risk: Risk): string | null {
  if (risk.bytes === 0 && risk.files === 0) return null;
  return `${formatBytes(risk.bytes)} in ${plural(risk.files, "file", "files")} ${risk.files === 1 ? "is" : "are"} not safe yet`;
}

/** `waiting 14 min` since the oldest capture that is not safe; null when none waits. */
export function backlogAge(risk: Risk, nowMs: number): string | null {
  return risk.oldestUnsafeAt === null ? null : formatDuration(Math.max(0, nowMs - risk.oldestUnsafeAt));
}

/** The tide line of a node or run. `movedBytes` of what is not safe is already across. */
export const tideOf = (row: { safeBytes: number; movedBytes: number; risk: Risk }): Tide => ({
  safe: row.safeBytes,
  moving: row.movedBytes,
  waiting: Math.max(0, row.risk.bytes - row.movedBytes),
});

export function tideWords(tide: Tide): string {
  if (tide.safe + tide.moving + tide.waiting === 0) return "nothing captured yet";
  return [
    `${formatBytes(tide.safe)} safe`,
    ...(tide.moving > 0 ? [`${formatBytes(tide.moving)} moving`] : []),
    ...(tide.waiting > 0 ? [`${formatBytes(tide.waiting)} at risk`] : []),
  ].join(", ");
}

/** The state of a node in a word, with its shape. A silent node shows since when, never a frozen speed. */
export function nodeStateWords(
  row: Pick<NodeRow, "state" | "work" | "risk" | "lastSeenAt" | "runs">,
  nowMs: number,
): { tone: Tone; text: string } {
  switch (row.state) {
    case "silent":
      return {
        tone: "lost",
        text: row.lastSeenAt === null ? "silent" : `silent ${formatDuration(nowMs - row.lastSeenAt)}`,
      };
    case "offline":
      return row.risk.bytes > 0 ? { tone: "lost", text: "offline, work not safe" } : { tone: "quiet", text: "offline" };
    case "revoked":
      return { tone: "quiet", text: "revoked" };
    case "online":
      return row.runs.length === 0 ? { tone: "quiet", text: "idle" } : workWords(row.work, row.risk);
  }
}

export function workWords(work: WorkState, risk: Risk): { tone: Tone; text: string } {
  switch (work) {
    case "safe":
      return { tone: "safe", text: "safe" };
    case "moving":
      return { tone: "moving", text: "uploading" };
    case "risk":
      return { tone: "risk", text: `${formatDuration(risk.lossMs)} at risk` };
    case "lost":
      return { tone: "lost", text: "lost" };
  }
}

/** Nodes that answer, first those whose oldest unsafe work waits longest. Ties keep the order of names. */
export function byBacklogAge(a: NodeRow, b: NodeRow): number {
  return (
    stateRank(a.state) - stateRank(b.state) ||
    (a.risk.oldestUnsafeAt ?? LATE) - (b.risk.oldestUnsafeAt ?? LATE) ||
    compareNames(a.name, b.name)
  );
}

const LATE = Number.MAX_SAFE_INTEGER;
const stateRank = (state: NodeState): number => (state === "revoked" ? 2 : state === "offline" ? 1 : 0);
