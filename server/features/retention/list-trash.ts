import type { TrashRow } from "#protocol/retention/keeping.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { trashStateOf } from "#server/core/retention/find-keeping.ts";

const MOST_LISTED = 1_000;

/** Lists the trash of a run, or of all runs; what is deleted next comes first. */
export async function listTrash(hub: Pick<Hub, "db">, { run }: { run: string | null }): Promise<TrashRow[]> {
  const rows = await hub.db.keepRecord.findMany({
    where: { kind: "trash", endedById: null, ...(run === null ? {} : { run }) },
    orderBy: [{ until: "asc" }, { id: "asc" }],
    take: MOST_LISTED,
  });
  const checkpoints = await hub.db.checkpoint.findMany({
    where: { id: { in: rows.map(({ checkpointId }) => checkpointId) }, state: "trashed" },
  });
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  return rows.flatMap((row) => {
    const one = byId.get(row.checkpointId);
    if (one === undefined) return [];
    const { id: checkpointId, writerEpoch } = one;
    const about = { checkpointId, run: one.run, step: Number(one.step), writerEpoch, sizeBytes: Number(one.sizeBytes) };
    return [{ ...about, ...trashStateOf(row) }];
  });
}
