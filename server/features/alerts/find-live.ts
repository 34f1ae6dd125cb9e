import type { AlertKind } from "#protocol/alerts/alerts.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import { fitsNode, fitsPattern } from "#protocol/base/scope.ts";
import { formatBytes, formatDuration } from "#protocol/base/units.ts";
import { risksOf, stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import type { Live } from "#server/core/live/live.ts";
import { openKeyOf } from "./alert-memory.ts";
import type { AlertMemory, LiveRule } from "#server/core/api/ports/alert-memory.ts";

/**
 * Evaluates the alert rules that live memory can answer: reads every node once, with a few comparisons for each rule. Never
 * queries the database.
 */

export interface Finding {
  subject: string;
  nodeId: string | null;
  nodeName: string | null;
  run: string | null;
  /** The sentence without the node's name as its subject; a whole sentence where `nodeName` is null. */
  text: string;
  /** Epoch ms at which the condition began, as far as is known. */
  since: number;
}

export const LIVE_KINDS: ReadonlySet<AlertKind> = new Set([
  "at-risk",
  "stalled",
  "silent",
  "disk-full",
  "no-checkpoint",
]);

/** Hysteresis: the alert ends only when this much more of the disk is free. */
const DISK_RELIEF_PERCENT = 2;

interface Look {
  live: Live;
  memory: AlertMemory;
  now: number;
}

const about = (node: LiveNode, rest: { run?: string; subject?: string; text: string; since: number }): Finding => ({
  subject: rest.subject ?? node.id,
  nodeId: node.id,
  nodeName: node.name,
  run: rest.run ?? null,
  text: rest.text,
  since: Math.round(rest.since),
});

function findOfNode(rule: LiveRule, node: LiveNode, look: Look): Finding[] {
  const { condition } = rule;
  const { live, memory, now } = look;
  const state = stateOf(node);
  const { report } = node;
  switch (condition.kind) {
    case "silent": {
      const since = node.lastSeenAt ?? node.quietSince;
      if (state !== "silent" || now - since <= condition.longerThanMs) return [];
      return [about(node, { text: `has been silent for ${formatDuration(now - since)}`, since })];
    }
    case "at-risk": {
      if (state !== "silent" && !isExpected(state)) return [];
      return risksOf(node, now).flatMap((risk, index) => {
        const run = report?.runs[index]?.run ?? "";
        if (risk.lossMs <= condition.longerThanMs || !fitsPattern(run, rule.scope.runs)) return [];
        if (!live.mayWriteNow(run, node.id)) return [];
        const unsafe = risk.checkpoints > 0 ? `, ${formatBytes(risk.bytes)} not yet safe` : "";
        const text = `has ${formatDuration(risk.lossMs)} of training of ${run} at risk${unsafe}`;
        return [about(node, { run, subject: `${node.id} ${run}`, text, since: now - risk.lossMs })];
      });
    }
    case "stalled": {
      const progress = memory.progress.get(node.id);
      if (!isExpected(state) || progress === undefined || !isWaiting(node)) return [];
      const stalledMs = now - progress.since;
      if (stalledMs <= condition.longerThanMs) return [];
      return [
        about(node, {
          text: `has moved nothing of what waits for ${formatDuration(stalledMs)}`,
          since: progress.since,
        }),
      ];
    }
    case "disk-full": {
      const disk = report?.disk ?? null;
      if (!isExpected(state) || disk === null || disk.totalBytes === 0) return [];
      const isOpen = memory.open.has(openKeyOf(rule.id, node.id));
      const share = (disk.freeBytes / disk.totalBytes) * 100;
      if (share >= condition.lessPercent + (isOpen ? DISK_RELIEF_PERCENT : 0)) return [];
      const text = `has ${formatBytes(disk.freeBytes)} of its disk free (${share.toFixed(share < 1 ? 1 : 0)} %)`;
      return [about(node, { text, since: now })];
    }
    case "no-checkpoint": {
      if (!isExpected(state)) return [];
      return (report?.runs ?? []).flatMap((run) => {
        const since = run.safeAt ?? run.startedAt;
        if (now - since <= condition.longerThanMs || !fitsPattern(run.run, rule.scope.runs)) return [];
        if (!live.mayWriteNow(run.run, node.id)) return [];
        const text = `has made no checkpoint of ${run.run} safe for ${formatDuration(now - since)}`;
        return [about(node, { run: run.run, subject: run.run, text, since })];
      });
    }
    default:
      return [];
  }
}

/** Returns whether bytes should be moving: a transfer waits or runs, or checkpoints are unsafe and nothing is paused. */
function isWaiting({ report }: LiveNode): boolean {
  const transfers = report?.transfers ?? [];
  if (transfers.some(({ state }) => state === "waiting" || state === "running")) return true;
  const isPaused = transfers.some(({ state }) => state === "paused");
  return !isPaused && (report?.runs ?? []).some(({ unsafeCheckpoints }) => unsafeCheckpoints > 0);
}

/** Records how far each node is, and since when. */
function noteProgress({ live, memory, now }: Look): void {
  for (const node of live.nodes.values()) {
    const { report } = node;
    if (report === null) continue;
    const moved = report.transfers.reduce((sum, one) => sum + one.bytesDone, 0);
    const runs = report.runs.map(({ safeStep, movedBytes }) => `${safeStep} ${movedBytes}`).join();
    // A node with nothing to move is idle, not stalled.
    const mark = isWaiting(node) ? `${report.transfers.length} ${moved} ${runs}` : "";
    const before = memory.progress.get(node.id);
    if (before === undefined || before.mark !== mark || mark === "") memory.progress.set(node.id, { mark, since: now });
  }
  for (const id of memory.progress.keys()) if (!live.nodes.has(id)) memory.progress.delete(id);
}

/** Returns the findings by rule id, for enabled rules that live memory can answer. */
export function findLive(look: Look): Map<string, Finding[]> {
  noteProgress(look);
  const rules = [...look.memory.rules.values()].filter(
    ({ isEnabled, condition }) => isEnabled && LIVE_KINDS.has(condition.kind),
  );
  const found = new Map<string, Finding[]>(rules.map((rule) => [rule.id, []]));
  for (const node of look.live.nodes.values()) {
    if (node.revokedAt !== null || node.leftAt !== null) continue;
    for (const rule of rules) {
      if (fitsNode(node, rule.scope)) found.get(rule.id)?.push(...findOfNode(rule, node, look));
    }
  }
  return found;
}
