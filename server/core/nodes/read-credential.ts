import { Fault } from "#protocol/faults/fault.ts";
import type { Node } from "#prisma/client/client.ts";
import { audit } from "../api/audit.ts";
import type { Hub } from "../api/hub.ts";
import { hashOf } from "#server/platform/random-id.ts";
import type { NodeCaller } from "../api/caller.ts";

/** Ends the streams that were opened with another credential than that with the hash `good`. */
export function endOld(hub: Pick<Hub, "live">, nodeId: string, good: string): void {
  for (const mailbox of hub.live.nodes.get(nodeId)?.mailboxes ?? []) {
    if (mailbox.credentialHash === null || mailbox.credentialHash === good) continue;
    mailbox.isOver = true;
    mailbox.signal.notify();
  }
}

/** Replaces a node's credential by the new one at its first use. */
async function promote(hub: Hub, node: Node, hash: string): Promise<void> {
  const at = new Date(hub.now());
  const isMine = await hub.db.$transaction(async (tx) => {
    const { count } = await tx.node.updateMany({
      where: { id: node.id, nextHash: hash },
      data: { credentialHash: hash, credentialAt: at, nextHash: null, overlapUntil: null, rotateAskedAt: null },
    });
    // Another call used it first, at the same time.
    if (count === 0) return false;
    const caller = { kind: "node" as const, nodeId: node.id, name: node.name, profileId: node.profileId };
    const about = { action: "use new credential", subject: node.name, subjectId: node.id };
    await audit({ db: tx, now: hub.now }, caller, about);
    return true;
  });
  const live = hub.live.nodes.get(node.id);
  if (isMine && live !== undefined) Object.assign(live, { credentialSince: at.getTime(), isRotationAsked: false });
  endOld(hub, node.id, hash);
}

/**
 * Returns the node of this credential. During a rotation two are valid: the old one until the first use of the new one, or
 * until the overlap ends. @throws Fault NODE_UNKNOWN, NODE_REVOKED
 */
export async function readNodeCredential(hub: Hub, credential: string): Promise<NodeCaller> {
  const hash = hashOf(credential);
  const known = hub.live.nodes.get(hub.live.credentials.get(hash) ?? "");
  if (known !== undefined) {
    if (known.revokedAt !== null) throw new Fault("NODE_REVOKED");
    return { kind: "node", nodeId: known.id, name: known.name, profileId: known.profileId, credentialHash: hash };
  }
  const current = await hub.db.node.findUnique({ where: { credentialHash: hash } });
  const node = current ?? (await hub.db.node.findUnique({ where: { nextHash: hash } }));
  if (node === null) throw new Fault("NODE_UNKNOWN");
  if (node.revokedAt !== null) throw new Fault("NODE_REVOKED");
  if (current === null) await promote(hub, node, hash);
  else if (current.overlapUntil !== null && hub.now() >= current.overlapUntil.getTime()) {
    endOld(hub, node.id, current.nextHash ?? "");
    throw new Fault("NODE_UNKNOWN", { detail: "it was replaced" });
  }
  const { id, name, profileId } = node;
  if (current !== null && current.nextHash === null) hub.live.credentials.set(hash, id);
  return { kind: "node", nodeId: id, name, profileId, credentialHash: hash };
}
