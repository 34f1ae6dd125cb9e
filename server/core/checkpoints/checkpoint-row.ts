import { checkpointRole, type CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import { KEPT_NOWHERE, type CheckpointKeeping } from "#protocol/retention/keeping.ts";
import { damageReport } from "#protocol/checkpoint/damage.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { FOREIGN_WRITER } from "../live/foreign-node.ts";
import { isAdoptedRow } from "../runs/is-adopted.ts";
import type { Live } from "../live/live.ts";
import { pieceOfRow } from "./join-step.ts";
import { placeOfRow } from "../runs/place-of-row.ts";
import { readMetrics } from "./read-metrics.ts";
import { readStored } from "#server/platform/stored-json.ts";

/** Bytes of each checkpoint that the store has acknowledged, from the uploads that move now. */
export function bytesMoving(live: Pick<Live, "transfers">): ReadonlyMap<string, number> {
  const moving = new Map<string, number>();
  for (const { row } of live.transfers.values()) {
    if (row.direction === "upload") moving.set(row.checkpointId, row.bytesDone);
  }
  return moving;
}

/** Where the training stood, not how well it went: the step is shown by itself. */
export const COUNTERS: ReadonlySet<string> = new Set(["step", "global_step", "epoch"]);

/** As many as a row of a list shows, and some for those who read lists by program. */
const MOST_LISTED_METRICS = 16;

/** Returns the metrics of a manifest as people see them. */
function metricsOf(stored: string, most: number): Record<string, number> {
  const metrics = Object.entries(readMetrics(stored));
  return Object.fromEntries(metrics.filter(([name]) => !COUNTERS.has(name)).slice(0, most));
}

/** Written by this hub and only shown. */
export function damageIn(row: Pick<Checkpoint, "damage" | "damagedAt">): CheckpointRow["damage"] {
  if (row.damagedAt === null || row.damage === null) return null;
  // A report that cannot be read is damage all the same.
  const report = readStored(row.damage, damageReport) ?? { ranges: [], more: 0 };
  return { ...report, foundAt: row.damagedAt.getTime() };
}

export interface RowContext {
  newestId: string | null;
  moving: ReadonlyMap<string, number>;
  /** Left out: as many as a list shows. */
  mostMetrics?: number;
  /** What is said about keeping them, where that is shown. */
  keeping?: ReadonlyMap<string, CheckpointKeeping>;
}

export function checkpointRowOf(row: Checkpoint & { node: { name: string } }, context: RowContext): CheckpointRow {
  const sizeBytes = Number(row.sizeBytes);
  return {
    id: row.id,
    run: row.run,
    step: Number(row.step),
    writerEpoch: row.writerEpoch,
    state: row.state as CheckpointState,
    isNewest: row.id === context.newestId,
    sizeBytes,
    fileCount: row.fileCount,
    nodeId: row.nodeId,
    nodeName: isAdoptedRow(row) ? FOREIGN_WRITER : row.node.name,
    profileId: row.profileId,
    bucket: row.bucket,
    framework: row.framework,
    role: checkpointRole.nullable().catch(null).parse(row.role),
    place: placeOfRow(row),
    doubt: row.doubt,
    piece: pieceOfRow(row),
    isAbandoned: row.abandonedAt !== null,
    metrics: metricsOf(row.metrics, context.mostMetrics ?? MOST_LISTED_METRICS),
    capturedAt: row.capturedAt.getTime(),
    committedAt: row.committedAt?.getTime() ?? null,
    bytesDone: row.state === "complete" ? sizeBytes : (context.moving.get(row.id) ?? 0),
    keeping: context.keeping?.get(row.id) ?? KEPT_NOWHERE,
    verifiedAt: row.verifiedAt?.getTime() ?? null,
    damage: damageIn(row),
  };
}
