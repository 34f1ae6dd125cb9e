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
 * Returns what a run that the node writes has in the bucket of the line it goes on with, newest first, 200 at most: the
 * checkpoints of this epoch, those of its parent up to the step it went on from, and so on. What an earlier line trained beyond
 * that step is left out: a framework would take it for its newest. So is what is damaged, abandoned or in the trash.
 * @throws Fault NOT_THIS_NODES when another node writes the run, or nobody does
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

/** Each is a part of one question to the database. */
const MOST_EPOCHS = 400;

/** The epochs that the newest one goes back to, each up to the step that was gone on from. */
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
