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

/** Returns the acknowledged bytes of each checkpoint that is being uploaded now. */
export function bytesMoving(live: Pick<Live, "transfers">): ReadonlyMap<string, number> {
  const moving = new Map<string, number>();
  for (const { row } of live.transfers.values()) {
    if (row.direction === "upload") moving.set(row.checkpointId, row.bytesDone);
  }
  return moving;
}

/** Metrics that count progress rather than quality; the step has a field of its own. */
export const COUNTERS: ReadonlySet<string> = new Set(["step", "global_step", "epoch"]);

/** Metrics per row of a list: as many as the page shows, and some for programs that read lists. */
const MOST_LISTED_METRICS = 16;

/** Returns the metrics of a manifest for display, without counters. */
function metricsOf(stored: string, most: number): Record<string, number> {
  const metrics = Object.entries(readMetrics(stored));
  return Object.fromEntries(metrics.filter(([name]) => !COUNTERS.has(name)).slice(0, most));
}

/** Returns the damage report of a checkpoint; null when no damage is known. */
export function damageIn(row: Pick<Checkpoint, "damage" | "damagedAt">): CheckpointRow["damage"] {
  if (row.damagedAt === null || row.damage === null) return null;
  // A checkpoint with an unreadable report still counts as damaged.
  const report = readStored(row.damage, damageReport) ?? { ranges: [], more: 0 };
  return { ...report, foundAt: row.damagedAt.getTime() };
}

export interface RowContext {
  newestId: string | null;
  moving: ReadonlyMap<string, number>;
  /** Default: as many as a list shows. */
  mostMetrics?: number;
  /** Retention states by checkpoint, where they are shown. */
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
