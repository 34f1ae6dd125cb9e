import { stepText } from "#protocol/checkpoint/step-words.ts";
import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { verifyInput } from "#protocol/wire/verifying.ts";
import { audit } from "#server/core/api/audit.ts";
import { completeCopies, profilesFor } from "#server/core/profiles/homes-of.ts";
import type { Context } from "#server/core/api/trpc.ts";
import { askCheck } from "#server/core/transfers/ask-check.ts";
import { anyNode } from "#server/core/nodes/choose-node.ts";
import type { PersonCaller } from "#server/core/api/caller.ts";

/** An order older than this is obsolete when its node returns. */
const VALID_MS = 86_400_000;

/**
 * Asks a node to read a complete checkpoint back and to compare every byte with its manifest, in the background. The hub reads
 * none of it. A repeated request returns the same verification.
 * @throws Fault NOT_FOUND (also when no node could do it), CHECKPOINT_INCOMPLETE, CONFLICT, NODE_REVOKED
 */
export async function verifyCheckpoint(
  context: Context & { caller: PersonCaller },
  input: z.infer<typeof verifyInput>,
): Promise<{ transferId: string }> {
  const { hub, caller } = context;
  const known = await hub.db.command.findUnique({ where: { requestId: input.requestId } });
  if (known !== null) return { transferId: known.transferId };
  const checkpoint = await hub.db.checkpoint.findUnique({ where: { id: input.checkpointId } });
  if (checkpoint === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const { requestId, nodeId, profileId = checkpoint.profileId } = input;
  if (!(await completeCopies(hub.db, checkpoint)).some((copy) => copy.profileId === profileId)) {
    throw new Fault("NOT_FOUND", { op: "verify", subject: "this copy", detail: "it does not lie in that bucket" });
  }
  const from = await profilesFor(hub.db, checkpoint);
  const node = nodeId === null ? anyNode(hub, { profileId, from }) : (hub.live.nodes.get(nodeId) ?? null);
  if (node === null) {
    const detail =
      nodeId === null ? "no node of its bucket profile is online to read it" : "it was never enrolled here";
    throw new Fault("NOT_FOUND", { op: "verify", subject: nodeId === null ? "a node" : "this node", detail });
  }
  const wanted = {
    requestId,
    kind: "verify" as const,
    checkpoint,
    node,
    ...(profileId === checkpoint.profileId ? {} : { profileId }),
    validMs: VALID_MS,
    actor: caller.person.email,
  };
  const { transferId, isNew } = await askCheck(hub, wanted);
  if (isNew) {
    const subject = `${stepText(checkpoint.step)} of ${checkpoint.run} on ${node.name}`;
    await audit(hub, caller, { action: "verify", subject, subjectId: transferId });
  }
  return { transferId };
}
