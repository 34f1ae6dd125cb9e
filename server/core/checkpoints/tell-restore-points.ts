import type * as z from "zod";
import type { DoubtfulPoint, RestorePoint } from "#protocol/checkpoint/continue-words.ts";
import type { restorePointsInput } from "#protocol/wire/hello.ts";
import type { NodeCaller } from "../api/caller.ts";
import type { Hub } from "../api/hub.ts";
import type { Context } from "../api/trpc.ts";
import { doubtfulAfter, doubtfulFinal, newestComplete, readRestorePoints } from "../runs/newest.ts";
import { readOpenPieces } from "./join-step.ts";

/**
 * Returns the newest checkpoints in the database for a node's own runs. Leaves out a run that the node does not write, unless
 * the hub does not know the run. Each comes with what may be incomplete.
 */
export async function tellRestorePoints(
  { hub, caller }: Context & { caller: NodeCaller },
  { runs }: z.infer<typeof restorePointsInput>,
): Promise<RestorePoint[]> {
  const own = runs.filter((run) => hub.live.mayWriteNow(run, caller.nodeId));
  const points = await readRestorePoints(hub.db, own);
  const told: RestorePoint[] = [];
  for (const run of own) {
    if (!hub.live.writers.has(run) && points.has(run)) continue;
    const doubtful = await readDoubtful(hub.db, run);
    const openPieces = await readOpenPieces(hub, run);
    told.push({
      ...(points.get(run) ?? { run, newest: null, trashedStep: null }),
      ...(doubtful.length > 0 && { doubtful }),
      ...(openPieces.length > 0 && { openPieces }),
    });
  }
  return told;
}

/** Returns the later checkpoint and the final model of a run that may be incomplete. */
async function readDoubtful(db: Hub["db"], run: string): Promise<DoubtfulPoint[]> {
  const step = await doubtfulAfter(db, run, await newestComplete(db, run));
  const final = await doubtfulFinal(db, run);
  const pointOf = ({ step: of, doubt }: NonNullable<typeof step>) => ({ step: Number(of), why: doubt ?? "" });
  return [
    ...(step === null ? [] : [pointOf(step)]),
    ...(final === null ? [] : [{ ...pointOf(final), role: "final-model" as const }]),
  ];
}
