import type * as z from "zod";
import { Fault } from "#protocol/faults/fault.ts";
import type { RotateAnswer, rotateInput } from "#protocol/wire/hello.ts";
import { audit } from "../api/audit.ts";
import type { Hub } from "../api/hub.ts";
import type { Context } from "../api/trpc.ts";
import type { LiveNode } from "../live/live-node.ts";
import { liveNodeOf } from "./live-node-of.ts";
import { endOld } from "./read-credential.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * A node's credential is replaced when a person asks for it or when it is old. The node makes the new one, has it on its
 * disk before it tells the hub the hash, and uses it only when the hub has taken it: whichever of them dies in between, the
 * node holds one that is good. The old one ends with the first use of the new one, or after the overlap.
 */

const OVERLAP_MS = 3_600_000;

/** When a credential is old; one that was never counted is as old as its node. */
const dueBefore = (hub: Pick<Hub, "settings" | "now">): Date => new Date(hub.now() - hub.settings.rotateAfterMs);

/** Whether the node should make itself a new credential. */
export const isRotationDue = (hub: Pick<Hub, "settings" | "now">, node: LiveNode): boolean =>
  node.isRotationAsked || node.credentialSince < dueBefore(hub).getTime();

/** Tells every node whose credential is old. One that is away hears it when it comes back. */
export async function askForRotation(hub: Hub): Promise<void> {
  const before = dueBefore(hub);
  const rows = await hub.db.node.findMany({
    where: {
      revokedAt: null,
      OR: [
        { rotateAskedAt: { not: null } },
        { credentialAt: { lt: before } },
        { credentialAt: null, enrolledAt: { lt: before } },
      ],
    },
    select: { id: true },
  });
  for (const { id } of rows) hub.live.send(id, { type: "rotate" });
}

/** Ends the streams that an old credential opened before its overlap was over. */
export async function endOverlaps(hub: Hub): Promise<void> {
  const over = { overlapUntil: { lte: new Date(hub.now()) }, nextHash: { not: null } };
  const rows = await hub.db.node.findMany({ where: over, select: { id: true, nextHash: true } });
  for (const { id, nextHash } of rows) endOld(hub, id, nextHash ?? "");
}

/** A person wants the credential of one node replaced. @throws Fault NOT_FOUND, NODE_REVOKED */
export async function askOne(context: Context, input: { id: string }): Promise<{ ok: true }> {
  const { hub } = context;
  const node = hub.live.nodes.get(input.id);
  if (node === undefined) throw new Fault("NOT_FOUND", { subject: "this node" });
  if (node.revokedAt !== null) throw new Fault("NODE_REVOKED", { subject: node.name });
  await hub.db.$transaction(async (tx) => {
    await tx.node.update({ where: { id: node.id }, data: { rotateAskedAt: new Date(hub.now()) } });
    const about = { action: "replace credential", subject: node.name, subjectId: node.id };
    await audit({ db: tx, now: hub.now }, context.caller, about);
  });
  node.isRotationAsked = true;
  hub.live.send(node.id, { type: "rotate" });
  return { ok: true };
}

/**
 * Takes the hash of a node's new credential. Saying it again changes nothing but the end of the overlap, which only a hash
 * that is new moves. @throws Fault NODE_REVOKED, CONFLICT (somebody else's)
 */
export async function rotate(
  { hub, caller }: Context & { caller: NodeCaller },
  { hash }: z.infer<typeof rotateInput>,
): Promise<RotateAnswer> {
  const node = liveNodeOf(hub, caller.nodeId);
  const overlapUntil = hub.now() + OVERLAP_MS;
  const answer = await hub.db.$transaction(async (tx) => {
    const taken = await tx.node.findFirst({ where: { OR: [{ credentialHash: hash }, { nextHash: hash }] } });
    if (taken !== null) {
      if (taken.id !== node.id) throw new Fault("CONFLICT", { subject: "this credential" });
      return { overlapUntil: taken.overlapUntil?.getTime() ?? hub.now() };
    }
    await tx.node.update({ where: { id: node.id }, data: { nextHash: hash, overlapUntil: new Date(overlapUntil) } });
    return { overlapUntil };
  });
  if (caller.credentialHash !== undefined) hub.live.credentials.delete(caller.credentialHash);
  return answer;
}
