import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { OpenPieces, openPiecesInput } from "#protocol/wire/hello.ts";
import type { Context } from "../api/trpc.ts";
import { isWriter } from "../runs/is-writer.ts";
import { readOpenPieces } from "./join-step.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Returns the steps with missing pieces of a run that several nodes write, for one of these nodes. @throws Fault
 * NOT_THIS_NODES
 */
export async function openPieces(
  { hub, caller }: Context & { caller: NodeCaller },
  { run }: z.infer<typeof openPiecesInput>,
): Promise<OpenPieces[]> {
  if ((await isWriter(hub.db, run, caller.nodeId)) !== true)
    throw new Fault("NOT_THIS_NODES", { op: "status", subject: run, detail: "another node writes this run" });
  return readOpenPieces(hub, run);
}
