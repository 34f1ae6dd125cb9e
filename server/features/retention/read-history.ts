import { readMetrics } from "#server/core/checkpoints/read-metrics.ts";
import type { CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import type { KeepHistory } from "#protocol/retention/decide-keeping.ts";
import { KEPT_NOWHERE } from "#protocol/retention/keeping.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import type { Database } from "#prisma/open.ts";
import { WRITTEN_BY_NODES } from "#server/core/runs/is-adopted.ts";
import { placeOfRow } from "#server/core/runs/place-of-row.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import { findKeeping } from "#server/core/retention/find-keeping.ts";
import { findPassedOver } from "#server/core/runs/passed-over.ts";
import { findRead } from "#server/core/retention/find-read.ts";

type Db = Pick<Database, "run" | "checkpoint" | "checkpointCopy" | "keepRecord" | "epoch" | "command" | "transfer">;

/** Rows per query: a run may have tens of thousands of checkpoints. */
const PAGE = 500;

async function readRows(db: Db, run: string): Promise<Checkpoint[]> {
  const rows: Checkpoint[] = [];
  for (let after = ""; ;) {
    const page = await db.checkpoint.findMany({
      // Final models are few, and no rule removes them.
      where: { id: { gt: after }, run, role: null, ...WRITTEN_BY_NODES, state: { in: ["complete", "uploading"] } },
      orderBy: { id: "asc" },
      take: PAGE,
    });
    rows.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return rows;
    after = last.id;
  }
}

/** Returns everything that decides which checkpoints of a run may go, as the database has it now. */
export async function readHistory(db: Db, run: string): Promise<KeepHistory> {
  const rows = await readRows(db, run);
  const copies = await db.checkpointCopy.findMany({
    where: { run, state: "complete", damagedAt: null },
    select: { checkpointId: true, profileId: true },
  });
  const homes = new Map<string, string[]>();
  for (const { checkpointId, profileId } of copies) {
    homes.set(checkpointId, [...(homes.get(checkpointId) ?? []), profileId]);
  }
  const keeping = await findKeeping(db, { run });
  const reading = await findRead(db, run);
  const back = await db.keepRecord.findMany({
    where: { run, kind: "trash", endedById: { not: null } },
    select: { checkpointId: true },
  });
  const wereBroughtBack = new Set(back.map(({ checkpointId }) => checkpointId));
  const epochs = await db.epoch.findMany({
    where: { run },
    select: { epoch: true, parentEpoch: true, parentStep: true },
  });
  return {
    checkpoints: await mapInSlices(rows, (row) => {
      const { isPinned, tags } = keeping.get(row.id) ?? KEPT_NOWHERE;
      return {
        id: row.id,
        step: Number(row.step),
        writerEpoch: row.writerEpoch,
        state: row.state as CheckpointState,
        capturedAt: row.capturedAt.getTime(),
        sizeBytes: Number(row.sizeBytes),
        // The metrics were validated when the manifest was committed.
        metrics: readMetrics(row.metrics),
        // A checkpoint that was found damaged later does not count as verified.
        verifiedAt: row.damagedAt === null ? (row.verifiedAt?.getTime() ?? null) : null,
        // A doubtful checkpoint cannot replace another either.
        isDamaged: row.damagedAt !== null || row.doubt !== null,
        isPinned,
        tags,
        isRestoring: reading.has(row.id),
        homes: [...(row.damagedAt === null ? [row.profileId] : []), ...(homes.get(row.id) ?? [])],
        wasBroughtBack: wereBroughtBack.has(row.id),
        root: placeOfRow(row)?.root?.index,
      };
    }),
    parents: epochs.flatMap(({ parentEpoch, parentStep }) =>
      parentEpoch === null || parentStep === null ? [] : [{ epoch: parentEpoch, step: Number(parentStep) }],
    ),
    passedOver: (await findPassedOver(db, run)).map(({ given }) => given),
    fresh: epochs.flatMap(({ epoch, parentEpoch }) => (parentEpoch === null ? [epoch] : [])),
  };
}
