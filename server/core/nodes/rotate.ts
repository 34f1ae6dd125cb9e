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
 * Rotates the credential of a node when a person asks for it or when it is old. The node makes the new one, writes it to
 * disk, sends its hash to the hub, and uses it once the hub has accepted it. So the node holds a valid credential whichever
 * side crashes. The old one ends with the first use of the new one, or after the overlap.
 */

const OVERLAP_MS = 3_600_000;

/** Returns the time before which a credential is too old. */
const dueBefore = (hub: Pick<Hub, "settings" | "now">): Date => new Date(hub.now() - hub.settings.rotateAfterMs);

/** Returns whether the node should make itself a new credential. */
export const isRotationDue = (hub: Pick<Hub, "settings" | "now">, node: LiveNode): boolean =>
  node.isRotationAsked || node.credentialSince < dueBefore(hub).getTime();

/** Asks every node with an old credential to replace it. A disconnected node is asked when it reconnects. */
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

/** Asks one node to replace its credential, for a person. @throws Fault NOT_FOUND, NODE_REVOKED */
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
 * Takes the hash of a node's new credential. Idempotent: only a new hash moves the end of the overlap. @throws Fault
 * NODE_REVOKED, CONFLICT (the hash belongs to another node)
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
