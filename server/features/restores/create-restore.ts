import type * as z from "zod";
import { Fault, faultFrom } from "#protocol/faults/fault.ts";
import type { createRestoreInput } from "#protocol/wire/requests.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { startRestores } from "./start-restores.ts";

/**
 * Asks one node to restore all of a complete checkpoint; throws where `startRestores` would return a fault. A repeated request
 * returns the same restore.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, CHECKPOINT_DAMAGED, NODE_REVOKED, CONFLICT, NO_SPACE
 */
export async function createRestore(
  context: Context,
  { nodeId, ...input }: z.infer<typeof createRestoreInput>,
): Promise<{ transferId: string }> {
  const wanted = { ...input, nodeIds: [nodeId], choice: null, mayFallBack: false };
  const [restore] = (await startRestores(context, wanted)).restores;
  if (restore?.fault != null) throw faultFrom(restore.fault);
  if (restore === undefined || restore.transferId === null) throw new Fault("INTERNAL", { op: "restore" });
  return { transferId: restore.transferId };
}
