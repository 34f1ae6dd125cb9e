import { setImmediate } from "node:timers/promises";
import { isExpected, isHeard, presenceAt, wouldLose } from "#protocol/fleet/node-status.ts";
import { addRisks } from "#protocol/wire/risk.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import { formatBytes, formatDuration } from "#protocol/base/units.ts";
import { cleanTurns } from "../features/benchmarks/clean-turns.ts";
import { runBenchmarks } from "../features/benchmarks/run-benchmarks.ts";
import { expireCommands, forgetCommands } from "../features/commands/expire.ts";
import { forgetOld } from "../core/events/forget-old.ts";
import { emit, recordEvents, type NewEvent } from "../core/events/record-event.ts";
import { writeMinute } from "../core/history/write-minute.ts";
import type { Hub } from "../core/api/hub.ts";
import { askForRotation, endOverlaps } from "../core/nodes/rotate.ts";
import { HISTORY_POINTS, risksOf, stateOf, take, type LiveNode } from "../core/live/live-node.ts";
import { keepSchedules } from "../features/jobs/schedules/keep-schedules.ts";
import { forgetJobs } from "../features/jobs/forget-jobs.ts";
import { keepJobs } from "../features/jobs/keep-jobs.ts";
import { releaseRestores } from "../features/restores/release-restores.ts";
import { createDatabaseWatch } from "../platform/watch-database.ts";
import { runDrills } from "../features/verification/run-drills.ts";
import { writeDown } from "../core/live/write-down.ts";

/**
 * Runs the periodic jobs of the fleet: notices silent nodes, adds rates to the history, writes memory to the database, deletes
 * what is too old. It ticks once a second; each job runs when it is due, never twice at once.
 */

const TICK_MS = 1_000;
const EXPIRE_EVERY_MS = 5_000;
const SILENCES_AT_ONCE = 200;
/** Number of groups of nodes: each group gets its point every ten seconds. */
const HISTORY_PARTS = 10;
const SAMPLES_EVERY_MS = 60_000;
const KEY_USES_EVERY_MS = 15_000;
const TOTALS_EVERY_MS = 10_000;
const LOOK_AT_DATABASE_MS = 30_000;
const PRUNE_EVERY_MS = 3_600_000;
const DRILLS_EVERY_MS = 30_000;
const CLEAN_EVERY_MS = 5_000;
const ROTATION_EVERY_MS = 600_000;
const OVERLAPS_EVERY_MS = 60_000;
/** A transfer that ended stays in view this long, so that every watcher sees its end. */
const ENDED_IN_VIEW_MS = 60_000;

/** Returns the event about a node that fell silent. */
function silenceOf(node: LiveNode, now: number): NewEvent {
  const risk = addRisks(risksOf(node, now));
  const isLost = wouldLose(risk);
  const parts = [
    ...(risk.lossMs > 0 ? [`${formatDuration(risk.lossMs)} of training at risk`] : []),
    ...(risk.checkpoints > 0 ? [`${formatBytes(risk.bytes)} not yet safe`] : []),
  ];
  const loss = isLost ? parts.join(", ") : "everything was safe";
  const quiet = formatDuration(now - (node.lastSeenAt ?? node.quietSince));
  const text = `has been silent for ${quiet}: ${loss}`;
  return { at: now, kind: "node-silent", work: isLost ? "lost" : "safe", node, text };
}

/** Marks nodes whose report is overdue, in memory only, because most of them report again. */
function noticeOverdue({ live }: Hub, now: number): void {
  const overdue = [...live.nodes.values()].filter(
    (node) => isHeard(stateOf(node)) && presenceAt(node, now) === "unconfirmed",
  );
  if (overdue.length === 0) return;
  for (const node of overdue) node.presence = "unconfirmed";
  live.stopClocks(new Set(overdue.map(({ id }) => id)));
  for (const node of overdue) live.touchNode(node);
  live.markStale(["runs"]);
}

/**
 * Marks nodes that have not reported for too long. A network failure can silence thousands at once: their events are written in
 * batches, and other work gets a turn in between.
 */
export async function markSilentNodes(hub: Hub): Promise<void> {
  const now = hub.now();
  noticeOverdue(hub, now);
  const isQuiet = (node: LiveNode): boolean =>
    isExpected(stateOf(node)) && node.presence !== "silent" && presenceAt(node, now) === "silent";
  const quiet = [...hub.live.nodes.values()].filter(isQuiet);
  for (let from = 0; from < quiet.length; from += SILENCES_AT_ONCE) {
    // Checks again: a node may have reported, left or been marked while earlier batches were written.
    const some = quiet.slice(from, from + SILENCES_AT_ONCE).filter(isQuiet);
    for (const node of some) node.presence = "silent";
    hub.live.stopClocks(new Set(some.map(({ id }) => id)));
    for (const node of some) hub.live.touchNode(node);
    const events = await recordEvents(
      hub.db,
      some.map((node) => silenceOf(node, now)),
    );
    for (const event of events) emit(hub, event, ["runs"]);
    await setImmediate();
  }
}

/**
 * Adds one point to the sparklines of a tenth of all nodes, or of all of them. Each node has its own second of ten, so that a
 * large fleet does not change all at once.
 */
export function rollHistory(hub: Pick<Hub, "live">, part: number | "all"): void {
  let place = 0;
  for (const node of hub.live.nodes.values()) {
    if (part !== "all" && place++ % HISTORY_PARTS !== part) continue;
    // Rounds to whole bytes, because thirty of these go to every browser with every change.
    const rate = Math.round(take(node.up));
    const wasFlat = rate === 0 && node.history.every((point) => point === 0);
    node.history = [...node.history, rate].slice(-HISTORY_POINTS);
    if (!wasFlat) hub.live.touchNode(node);
  }
}

export async function refreshTotals(hub: Hub): Promise<void> {
  const since = new Date(hub.now() - 86_400_000);
  const ended = (state: string) => hub.db.transfer.count({ where: { state, endedAt: { gte: since } } });
  const totals = {
    doneLastDay: await ended("done"),
    failedLastDay: await ended("failed"),
    checkpointsComplete: await hub.db.checkpoint.count({ where: { state: "complete" } }),
  };
  const open = await hub.db.command.groupBy({ by: ["nodeId", "state"], where: { endedAt: null }, _count: true });
  const counts = new Map<string, number>();
  for (const { nodeId, state, _count: count } of open) {
    counts.set(state, (counts.get(state) ?? 0) + count);
    hub.live.mayHaveCommands.add(nodeId);
  }
  hub.live.openCommands = new Map(["sent", "accepted"].map((state) => [state, counts.get(state) ?? 0]));
  const jobs = await hub.db.job.groupBy({
    by: ["state"],
    where: { state: { in: ["waiting", "running"] } },
    _count: true,
  });
  hub.live.openJobs = new Map(
    ["waiting", "running"].map((state) => [state, jobs.find((one) => one.state === state)?._count ?? 0]),
  );
  if (JSON.stringify(totals) === JSON.stringify(hub.live.totals)) return;
  hub.live.totals = totals;
  hub.live.touch();
}

function dropEnded(hub: Hub): void {
  const before = hub.now() - ENDED_IN_VIEW_MS;
  for (const [id, { row }] of hub.live.transfers) {
    if (isEnded(row.state) && (row.endedAt ?? 0) < before) hub.live.transfers.delete(id);
  }
}

/** Starts the tick. Returns how to stop it; stopping writes pending state to the database. */
export function startTicking(hub: Hub): { stop: () => Promise<void> } {
  let part = 0;
  const { settings, counters, log } = hub;
  const lookAtDatabase = createDatabaseWatch({ dataFolder: settings.dataFolder, counters, log });
  const jobs = [
    { everyMs: TICK_MS, run: async () => hub.live.adaptCadence(hub.now()) },
    { everyMs: TICK_MS, run: () => markSilentNodes(hub) },
    { everyMs: EXPIRE_EVERY_MS, run: () => expireCommands(hub) },
    { everyMs: TICK_MS, run: () => releaseRestores(hub) },
    { everyMs: TICK_MS, run: () => keepJobs(hub) },
    { everyMs: TICK_MS, run: () => keepSchedules(hub) },
    { everyMs: TICK_MS, run: () => runBenchmarks(hub) },
    { everyMs: CLEAN_EVERY_MS, run: () => cleanTurns(hub) },
    { everyMs: DRILLS_EVERY_MS, run: () => runDrills(hub) },
    { everyMs: PRUNE_EVERY_MS, run: () => forgetCommands(hub) },
    { everyMs: TICK_MS, run: async () => rollHistory(hub, part++ % HISTORY_PARTS) },
    { everyMs: TICK_MS, run: () => writeDown(hub, "due") },
    { everyMs: KEY_USES_EVERY_MS, run: () => hub.keyUses.flush() },
    { everyMs: ROTATION_EVERY_MS, run: () => askForRotation(hub) },
    { everyMs: OVERLAPS_EVERY_MS, run: () => endOverlaps(hub) },
    { everyMs: SAMPLES_EVERY_MS, run: () => writeMinute(hub, hub.now()) },
    { everyMs: TOTALS_EVERY_MS, run: () => refreshTotals(hub) },
    { everyMs: TOTALS_EVERY_MS, run: async () => dropEnded(hub) },
    { everyMs: PRUNE_EVERY_MS, run: () => forgetOld(hub) },
    { everyMs: PRUNE_EVERY_MS, run: () => forgetJobs(hub) },
    { everyMs: LOOK_AT_DATABASE_MS, run: lookAtDatabase },
  ].map((job) => ({ ...job, nextAt: hub.now() + job.everyMs }));
  let running: Promise<void> = Promise.resolve();
  let busy = false;
  const beat = async (): Promise<void> => {
    for (const job of jobs) {
      if (hub.now() < job.nextAt) continue;
      job.nextAt = hub.now() + job.everyMs;
      await job.run().catch((error: unknown) => hub.log.error({ error }, "a job of the clock failed"));
    }
  };
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    running = beat().finally(() => {
      busy = false;
    });
  }, TICK_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
      await writeDown(hub, "everything");
      await hub.keyUses.flush();
    },
  };
}
