import type { ProgressReport, ReportAnswer, TransferProgress } from "#protocol/wire/reports.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import { emit } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { hearLog, wantedLog } from "../live/job-logs.ts";
import { addTo, type LiveNode } from "../live/live-node.ts";
import type { LiveTransfer } from "../live/live.ts";
import { writeMoves } from "../live/write-down.ts";
import { isHomeOf } from "../profiles/homes-of.ts";
import { noteAway } from "../runs/note-away.ts";
import { hearCaller } from "../nodes/hear-caller.ts";
import type { Context } from "../api/trpc.ts";
import { placeOf } from "./place-of.ts";
import { transferRowOf, withProgress } from "../live/transfer-row.ts";
import type { NodeCaller } from "../api/caller.ts";

/** Bytes per second. A slower rate says nothing about the link: the transfer was waiting for something else. */
const SLOWEST_MEASURE = 10_000;
const SMOOTHING = 0.2;
/** A node gives up a report that takes longer than this to arrive. */
const LONGEST_WAY_MS = 30_000;

function measure(node: LiveNode, report: ProgressReport): void {
  addTo(node.up, report.upBytesPerSecond);
  addTo(node.minute.up, report.upBytesPerSecond);
  addTo(node.minute.down, report.downBytesPerSecond);
  const moves = (direction: "upload" | "download") =>
    report.transfers.some((transfer) => transfer.direction === direction && transfer.state === "running");
  if (report.upBytesPerSecond >= SLOWEST_MEASURE && moves("upload")) {
    addTo(node.minute.upBusy, report.upBytesPerSecond);
  }
  if (report.downBytesPerSecond >= SLOWEST_MEASURE && moves("download")) {
    addTo(node.minute.downBusy, report.downBytesPerSecond);
  }
  if (report.downBytesPerSecond < SLOWEST_MEASURE) return;
  node.downBytesPerSecond =
    node.downBytesPerSecond === null
      ? report.downBytesPerSecond
      : node.downBytesPerSecond * (1 - SMOOTHING) + report.downBytesPerSecond * SMOOTHING;
}

/** Returns the bucket at the other end of a transfer. The profile that a node names counts only if it is a home of the run. */
async function homeFor(hub: Hub, node: LiveNode, about: TransferProgress): Promise<{ bucket: string; prefix: string }> {
  const { checkpointId: id, run, profileId } = about;
  if (profileId !== undefined && (await isHomeOf(hub.db, run, profileId))) {
    return hub.db.profile.findUniqueOrThrow({ where: { id: profileId } });
  }
  const checkpoint = await hub.db.checkpoint.findUnique({ where: { id }, select: { bucket: true, prefix: true } });
  return checkpoint ?? hub.db.profile.findUniqueOrThrow({ where: { id: node.profileId } });
}

/** Stores a transfer that the hub hears of for the first time, so that clients can query its id at once. */
async function createRow(hub: Hub, node: LiveNode, progress: TransferProgress): Promise<TransferRow> {
  const { bucket, prefix } = await homeFor(hub, node, progress);
  const row = await hub.db.transfer.create({
    data: {
      id: progress.id,
      nodeId: node.id,
      direction: progress.direction,
      state: isEnded(progress.state) ? "running" : progress.state,
      checkpointId: progress.checkpointId,
      run: progress.run,
      step: BigInt(progress.step),
      bucket,
      place: placeOf({ bucket, prefix }, progress),
      bytesDone: BigInt(progress.bytesDone),
      bytesTotal: BigInt(progress.bytesTotal),
      sentBytes: 0n,
      filesDone: progress.filesDone,
      filesTotal: progress.filesTotal,
      connections: progress.connections,
      retries: progress.retries,
      fault: null,
      startedBy: progress.startedBy,
      createdAt: new Date(hub.now()),
      startedAt: null,
      endedAt: null,
    },
  });
  emit(hub, null, ["transfers"]);
  return transferRowOf(row, node.name);
}

interface Said {
  progress: TransferProgress;
  /** Time of the report, by the node's clock. */
  at: number;
}

/** Returns whether a report predates the failure of its transfer, which overtook it. */
function wasSaidBefore(hub: Hub, live: LiveTransfer | undefined, said: Said): boolean {
  const failedAt = live?.endedAtNode ?? null;
  // If the node's clock was set back, this must not block a retry for longer than a report can be in transit.
  const isRecent = hub.now() - (live?.row.endedAt ?? 0) < LONGEST_WAY_MS;
  return failedAt !== null && isRecent && said.at <= failedAt;
}

/** Returns the row of a progress; null when it belongs to another node or the transfer has ended for good. */
async function rowFor(hub: Hub, node: LiveNode, said: Said): Promise<TransferRow | null> {
  const { progress } = said;
  const live = hub.live.transfers.get(progress.id);
  const stored = live === undefined ? await hub.db.transfer.findUnique({ where: { id: progress.id } }) : null;
  const row = live?.row ?? (stored === null ? await createRow(hub, node, progress) : transferRowOf(stored, node.name));
  if (row.nodeId !== node.id) return null;
  // A failed transfer may be retried; other ended transfers stay as they are.
  const isOver = isEnded(row.state) && (row.state !== "failed" || wasSaidBefore(hub, live, said));
  return isOver ? null : row;
}

/**
 * Takes a node's progress report and returns how often to report. Only changes of state are durable on return; numbers are
 * stored periodically. An end that only appears here waits for the event that records it.
 */
export async function acceptReport(
  context: Context & { caller: NodeCaller },
  report: ProgressReport,
): Promise<ReportAnswer> {
  const { hub } = context;
  const node = await hearCaller(context);
  if (node.report?.bootId === report.bootId && report.seq <= node.report.seq)
    return { settings: hub.live.settingsOf(node, hub.now()) };
  if (report.jobLog !== undefined) hearLog(hub.jobs.logs, node.id, report.jobLog);
  const clock = { now: hub.now(), skewMs: hub.now() - report.at };
  const moved: TransferRow[] = [];
  for (const progress of report.transfers) {
    if (isEnded(progress.state)) continue;
    const before = await rowFor(hub, node, { progress, at: report.at });
    if (before === null) continue;
    const row = withProgress(before, progress, clock);
    if (row.state !== before.state) moved.push(row);
    hub.live.putTransfer(row, { toWrite: "later" });
  }
  hub.counters.reports++;
  const awayBefore = node.report?.homesAway ?? [];
  node.report = report;
  node.reportedAt = hub.now();
  node.dirty = true;
  measure(node, report);
  hub.live.touchNode(node);
  if (awayBefore.length + (report.homesAway?.length ?? 0) > 0) await noteAway(hub, node, awayBefore);
  await writeMoves(hub, moved);
  if (moved.length > 0) hub.live.markStale(["transfers"]);
  const jobLog = wantedLog(hub.jobs.logs, node.id, hub.now());
  return { settings: hub.live.settingsOf(node, hub.now()), ...(jobLog !== undefined && { jobLog }) };
}
