import type { TransferProgress } from "#protocol/wire/reports.ts";
import { isEnded, markTriedAgain, type TransferDirection, type TransferState } from "#protocol/wire/transfer.ts";
import type { TransferRow } from "#protocol/wire/views.ts";
import type { Transfer } from "#prisma/client/client.ts";
import { storedFault } from "../events/event-row.ts";

const averageOf = (bytes: number, startedAt: number | null, until: number): number =>
  startedAt === null || until <= startedAt ? 0 : (bytes * 1000) / (until - startedAt);

/** Returns a transfer from the database, without live numbers. */
export function transferRowOf(row: Transfer, nodeName: string): TransferRow {
  const startedAt = row.startedAt?.getTime() ?? null;
  const endedAt = row.endedAt?.getTime() ?? null;
  const bytesDone = Number(row.bytesDone);
  return {
    id: row.id,
    nodeId: row.nodeId,
    nodeName,
    direction: row.direction as TransferDirection,
    state: row.state as TransferState,
    checkpointId: row.checkpointId,
    run: row.run,
    step: Number(row.step),
    bucket: row.bucket,
    place: row.place,
    bytesDone,
    bytesTotal: Number(row.bytesTotal),
    filesDone: row.filesDone,
    filesTotal: row.filesTotal,
    currentPath: null,
    bytesPerSecond: 0,
    averageBytesPerSecond: endedAt === null ? 0 : averageOf(bytesDone, startedAt, endedAt),
    etaMs: null,
    connections: row.connections,
    retries: row.retries,
    pieces: "",
    stalledMs: null,
    fault: storedFault(row.fault),
    startedBy: row.startedBy as TransferRow["startedBy"],
    createdAt: row.createdAt.getTime(),
    startedAt,
    endedAt,
  };
}

/** Exponential smoothing of the rate behind the ETA, so that it does not jump. */
const SMOOTHING = 0.3;

/** Returns `before` updated by the node's progress. `skewMs` is the hub's clock minus the node's. */
export function withProgress(
  before: TransferRow,
  progress: TransferProgress,
  clock: { now: number; skewMs: number },
): TransferRow {
  // The node's clock is untrusted: a sum outside the range of dates could never be read from the database again.
  const startedAt =
    progress.startedAt === null ? null : Math.min(clock.now, Math.max(0, progress.startedAt + clock.skewMs));
  const averageBytesPerSecond = averageOf(progress.bytesDone, startedAt, clock.now);
  const isRunning = progress.state === "running";
  const smooth =
    before.bytesPerSecond === 0
      ? progress.bytesPerSecond
      : before.bytesPerSecond * (1 - SMOOTHING) + progress.bytesPerSecond * SMOOTHING;
  const left = Math.max(0, progress.bytesTotal - progress.bytesDone);
  return {
    ...before,
    state: progress.state,
    bytesDone: progress.bytesDone,
    bytesTotal: progress.bytesTotal,
    filesDone: progress.filesDone,
    filesTotal: progress.filesTotal,
    currentPath: isRunning ? progress.currentPath : null,
    bytesPerSecond: isRunning ? progress.bytesPerSecond : 0,
    averageBytesPerSecond,
    etaMs: isRunning && smooth > 0 && progress.stalledMs === null ? Math.round((left / smooth) * 1000) : null,
    connections: isRunning ? progress.connections : 0,
    retries: progress.retries,
    pieces: markTriedAgain(progress.pieces, progress.triedAgain ?? []),
    stalledMs: progress.stalledMs,
    fault: progress.fault,
    startedAt,
    endedAt: isEnded(progress.state) ? (before.endedAt ?? clock.now) : null,
  };
}

/** Returns a row without speed, for a transfer whose node is no longer heard: a frozen speed would mislead. */
export const withoutSpeed = (row: TransferRow): TransferRow => ({
  ...row,
  currentPath: null,
  bytesPerSecond: 0,
  etaMs: null,
  connections: 0,
  stalledMs: null,
});
