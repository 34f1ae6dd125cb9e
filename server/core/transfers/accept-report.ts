import type { NodeSettings } from "#protocol/wire/hello.ts";
import type { ProgressReport, TransferProgress } from "#protocol/wire/reports.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import { emit } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
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

/** What moves more slowly than this says nothing about a link: it was waiting for something else. */
const SLOWEST_MEASURE = 10_000;
const SMOOTHING = 0.2;
/** A report that took longer than this to arrive was given up by its node. */
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

/** The bucket at the other end of a transfer. A node's word on which that is counts only where the run has a home. */
async function homeFor(hub: Hub, node: LiveNode, about: TransferProgress): Promise<{ bucket: string; prefix: string }> {
  const { checkpointId: id, run, profileId } = about;
  if (profileId !== undefined && (await isHomeOf(hub.db, run, profileId))) {
    return hub.db.profile.findUniqueOrThrow({ where: { id: profileId } });
  }
  const checkpoint = await hub.db.checkpoint.findUnique({ where: { id }, select: { bucket: true, prefix: true } });
  return checkpoint ?? hub.db.profile.findUniqueOrThrow({ where: { id: node.profileId } });
}

/** Writes a transfer the hub hears of for the first time, so that its id can be asked for at once. */
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
  /** When, by the node's clock. */
  at: number;
}

/** Whether a report is older than the failure it arrived behind. */
function wasSaidBefore(hub: Hub, live: LiveTransfer | undefined, said: Said): boolean {
  const failedAt = live?.endedAtNode ?? null;
  // A clock that was set back must not hold a retry up for longer than a report can be under way.
  const isRecent = hub.now() - (live?.row.endedAt ?? 0) < LONGEST_WAY_MS;
  return failedAt !== null && isRecent && said.at <= failedAt;
}

/** The row a progress belongs to; null when it is another node's, or over for good. */
async function rowFor(hub: Hub, node: LiveNode, said: Said): Promise<TransferRow | null> {
  const { progress } = said;
  const live = hub.live.transfers.get(progress.id);
  const stored = live === undefined ? await hub.db.transfer.findUnique({ where: { id: progress.id } }) : null;
  const row = live?.row ?? (stored === null ? await createRow(hub, node, progress) : transferRowOf(stored, node.name));
  if (row.nodeId !== node.id) return null;
  // A transfer that failed may be taken up again; the others that ended stay as they are.
  const isOver = isEnded(row.state) && (row.state !== "failed" || wasSaidBefore(hub, live, said));
  return isOver ? null : row;
}

/**
 * Takes a node's word about the present. Only changes of state are durable when this returns: numbers are written down
 * now and then. The answer says how often to report.
 * An end that only shows up here waits for the event that records it.
 */
export async function acceptReport(
  context: Context & { caller: NodeCaller },
  report: ProgressReport,
): Promise<{ settings: NodeSettings }> {
  const { hub } = context;
  const node = await hearCaller(context);
  if (node.report?.bootId === report.bootId && report.seq <= node.report.seq)
    return { settings: hub.live.settingsOf(node, hub.now()) };
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
  return { settings: hub.live.settingsOf(node, hub.now()) };
}
