import type * as z from "zod";
import { Fault } from "#protocol/fault.ts";
import type { findCheckpointInput, FoundCheckpoint } from "#protocol/hello.ts";
import { runName } from "#protocol/names.ts";
import type { Context, NodeCaller } from "../trpc.ts";
import { currentEpoch, newestBefore, newestComplete, newestOfStep } from "./newest.ts";

/**
 * Returns a complete checkpoint of a run that the node writes: the newest, the newest of one step, or the one before the newest
 * of a step; null when there is none.
 * @throws Fault NOT_THIS_NODES when another node writes the run, or nobody does
 */
export async function findCheckpoint(
  { hub, caller }: Context & { caller: NodeCaller },
  { run, step, before }: z.infer<typeof findCheckpointInput>,
): Promise<FoundCheckpoint | null> {
  const writer = await currentEpoch(hub.db, run);
  if (writer?.nodeId !== caller.nodeId) {
    const detail = writer === null ? "nobody has written this run yet" : "another node writes this run";
    throw new Fault("NOT_THIS_NODES", { op: "restore", subject: run, detail });
  }
  const found =
    before !== undefined
      ? await newestBefore(hub.db, run, before)
      : step === undefined
        ? await newestComplete(hub.db, run)
        : await newestOfStep(hub.db, run, step);
  if (found === null) return null;
  return {
    checkpointId: found.id,
    run: runName.parse(found.run),
    writerEpoch: found.writerEpoch,
    step: Number(found.step),
    capturedAt: Number(found.capturedAt),
    ...(before !== undefined && { isBefore: true }),
  };
}
