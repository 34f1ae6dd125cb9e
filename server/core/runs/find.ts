import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { findCheckpointInput, FoundCheckpoint } from "#protocol/wire/hello.ts";
import { runName } from "#protocol/base/names.ts";
import type { Database } from "#prisma/open.ts";
import type { Context } from "../api/trpc.ts";
import { placeIn } from "./place-of-row.ts";
import { isWriter } from "./is-writer.ts";
import { newestBefore, newestComplete, newestOfName, newestOfRole, newestOfStep } from "./newest.ts";
import type { NodeCaller } from "../api/caller.ts";

function findWanted(db: Database, { run, step, before, role, name }: z.infer<typeof findCheckpointInput>) {
  if (name !== undefined) return newestOfName(db, run, name);
  if (role !== undefined) return newestOfRole(db, run, role);
  if (before !== undefined) return newestBefore(db, run, before);
  return step === undefined ? newestComplete(db, run) : newestOfStep(db, run, step);
}

/**
 * Returns a complete checkpoint of a run that the node writes; null when there is none. The input selects the newest one, the
 * newest of a step or name, the one before a step, or the newest final model. @throws Fault NOT_THIS_NODES when another node
 * writes the run, or the run has no writer
 */
export async function findCheckpoint(
  { hub, caller }: Context & { caller: NodeCaller },
  { run, step, before, role, name }: z.infer<typeof findCheckpointInput>,
): Promise<FoundCheckpoint | null> {
  const writes = await isWriter(hub.db, run, caller.nodeId);
  if (writes !== true) {
    const detail = writes === null ? "nobody has written this run yet" : "another node writes this run";
    throw new Fault("NOT_THIS_NODES", { op: "restore", subject: run, detail });
  }
  const found = await findWanted(hub.db, { run, step, before, role, name });
  if (found === null) return null;
  return {
    checkpointId: found.id,
    run: runName.parse(found.run),
    writerEpoch: found.writerEpoch,
    step: Number(found.step),
    capturedAt: Number(found.capturedAt),
    ...placeIn(found),
    ...(before !== undefined && { isBefore: true }),
    ...(role !== undefined && { role }),
  };
}
