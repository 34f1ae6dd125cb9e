import type * as z from "zod";
import type { CheckpointPage, listCheckpointsInput } from "#protocol/wire/checkpoint-pages.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { Hub } from "../api/hub.ts";
import { findKeeping } from "../retention/find-keeping.ts";
import { bytesMoving, checkpointRowOf } from "./checkpoint-row.ts";
import { newestComplete } from "../runs/newest.ts";

type Input = z.infer<typeof listCheckpointsInput>;
type Asked = Omit<Input, "steps"> & Partial<Pick<Input, "steps">>;

/**
 * Returns the checkpoints of a run, newest first, page by page. A page reads one row more than it shows, however many the run
 * has. @throws Fault NOT_FOUND when the run, or the checkpoint of the cursor, does not exist
 */
export async function listCheckpoints(
  hub: Pick<Hub, "db" | "live">,
  { run, states, kept, steps = null, cursor, limit }: Asked,
): Promise<CheckpointPage> {
  // One transaction, so that the mark "newest" agrees with the rows.
  const { found, newest, keeping } = await hub.db.$transaction(async (tx) => {
    if ((await tx.run.count({ where: { name: run } })) === 0) throw new Fault("NOT_FOUND", { subject: run });
    const after = cursor === null ? null : await tx.checkpoint.findUnique({ where: { id: cursor } });
    if (cursor !== null && after?.run !== run) throw new Fault("NOT_FOUND", { subject: "the page before" });
    const keeping = await findKeeping(tx, { run });
    const byHand = [...keeping]
      .filter(([, { isPinned, tags }]) => (kept === "pinned" ? isPinned : tags.length > 0))
      .map(([id]) => id);
    const found = await tx.checkpoint.findMany({
      where: {
        run,
        ...(kept === null ? {} : { id: { in: byHand } }),
        // The row of the joined checkpoint stands for its pieces.
        state: states.length === 0 ? { not: "joined" } : { in: states },
        ...(steps === null ? {} : { step: { gte: BigInt(steps.from), lte: BigInt(steps.to) } }),
        ...(after === null
          ? {}
          : {
              OR: [
                { writerEpoch: { lt: after.writerEpoch } },
                { writerEpoch: after.writerEpoch, step: { lt: after.step } },
                { writerEpoch: after.writerEpoch, step: after.step, announcedAt: { lt: after.announcedAt } },
                {
                  writerEpoch: after.writerEpoch,
                  step: after.step,
                  announcedAt: after.announcedAt,
                  id: { lt: after.id },
                },
              ],
            }),
      },
      include: { node: { select: { name: true } } },
      orderBy: [{ writerEpoch: "desc" }, { step: "desc" }, { announcedAt: "desc" }, { id: "desc" }],
      take: limit + 1,
    });
    return { found, newest: await newestComplete(tx, run), keeping };
  });
  const context = { newestId: newest?.id ?? null, moving: bytesMoving(hub.live), keeping };
  const rows = found.slice(0, limit).map((row) => checkpointRowOf(row, context));
  return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
}
