import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import type { checkpointRef, findCheckpointInput } from "#protocol/hello.ts";
import { runName } from "#protocol/names.ts";
import type { Context, NodeCaller } from "../trpc.ts";
import { currentEpoch, newestComplete, newestOfStep } from "./newest.ts";

/**
 * A complete checkpoint of a run that the node writes: the newest, or the newest of one step; null when there is none.
 * @throws Fault NOT_THIS_NODES when another node writes the run, or nobody does
 */
export async function findCheckpoint(
  { hub, caller }: Context & { caller: NodeCaller },
  { run, step }: z.infer<typeof findCheckpointInput>,
): Promise<(z.infer<typeof checkpointRef> & { capturedAt: number }) | null> {
  const writer = await currentEpoch(hub.db, run);
  if (writer?.nodeId !== caller.nodeId) {
    const detail = writer === null ? "nobody has written this run yet" : "another node writes this run";
    throw new Fault("NOT_THIS_NODES", { op: "restore", subject: run, detail });
  }
  const found = step === undefined ? await newestComplete(hub.db, run) : await newestOfStep(hub.db, run, step);
  if (found === null) return null;
  return {
    checkpointId: found.id,
    run: runName.parse(found.run),
    writerEpoch: found.writerEpoch,
    step: Number(found.step),
    capturedAt: Number(found.capturedAt),
  };
}
