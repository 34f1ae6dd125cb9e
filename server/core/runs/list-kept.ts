import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import { MOST_KEPT, type KeptCheckpoint, type listKeptInput } from "#protocol/wire/hello.ts";
import { runName } from "#protocol/base/names.ts";
import type { Epoch } from "#prisma/client/client.ts";
import type { Context } from "../api/trpc.ts";
import { isWriter } from "./is-writer.ts";
import { NEWEST, RESUMABLE } from "./newest.ts";
import { placeIn } from "./place-of-row.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Returns the checkpoints on the line of training that the node continues, newest first, 200 at most. The line is the current
 * epoch, its parent up to the step it resumed from, and so on. Steps that an earlier line trained beyond that point are left
 * out, because a framework would take them for the newest. So are damaged, abandoned and trashed ones. @throws Fault
 * NOT_THIS_NODES when another node writes the run, or the run has no writer
 */
export async function listKept(
  { hub, caller }: Context & { caller: NodeCaller },
  { run }: z.infer<typeof listKeptInput>,
): Promise<KeptCheckpoint[]> {
  const { db } = hub;
  const writes = await isWriter(db, run, caller.nodeId);
  if (writes !== true) {
    const detail = writes === null ? "nobody has written this run yet" : "another node writes this run";
    throw new Fault("NOT_THIS_NODES", { op: "restore", subject: run, detail });
  }
  const epochs = await db.epoch.findMany({ where: { run }, orderBy: { epoch: "desc" }, take: MOST_EPOCHS });
  const rows = await db.checkpoint.findMany({
    where: { run, state: "complete", damagedAt: null, ...RESUMABLE, OR: lineOf(epochs) },
    orderBy: NEWEST,
    take: MOST_KEPT,
  });
  return rows.map((row) => ({
    checkpointId: row.id,
    run: runName.parse(row.run),
    writerEpoch: row.writerEpoch,
    step: Number(row.step),
    capturedAt: Number(row.capturedAt),
    sizeBytes: Number(row.sizeBytes),
    ...placeIn(row),
  }));
}

/** Each epoch adds a condition to one query. */
const MOST_EPOCHS = 400;

/** Returns the ancestors of the newest epoch, each with the step up to which it counts. */
function lineOf(epochs: readonly Epoch[]): { writerEpoch: number; step?: { lte: bigint } }[] {
  const line: { writerEpoch: number; step?: { lte: bigint } }[] = [];
  let wanted: { epoch: number; step: bigint | null } | null =
    epochs[0] === undefined ? null : { epoch: epochs[0].epoch, step: null };
  for (const { epoch, parentEpoch, parentStep } of epochs) {
    if (wanted === null || epoch !== wanted.epoch) continue;
    line.push({ writerEpoch: epoch, ...(wanted.step !== null && { step: { lte: wanted.step } }) });
    wanted = parentEpoch === null ? null : { epoch: parentEpoch, step: parentStep };
  }
  return line;
}
