import { Fault } from "#protocol/faults/fault.ts";
import type { Node } from "#prisma/client/client.ts";
import { audit } from "../api/audit.ts";
import type { Hub } from "../api/hub.ts";
import { hashOf } from "#server/platform/random-id.ts";
import type { NodeCaller } from "../api/caller.ts";

/** Only the credential with the hash `good` is good from now on; streams that were opened with the old one end. */
export function endOld(hub: Pick<Hub, "live">, nodeId: string, good: string): void {
  for (const mailbox of hub.live.nodes.get(nodeId)?.mailboxes ?? []) {
    if (mailbox.credentialHash === null || mailbox.credentialHash === good) continue;
    mailbox.isOver = true;
    mailbox.signal.ring();
  }
}

/** The first use of a node's new credential: it takes the place of the old one. */
async function promote(hub: Hub, node: Node, hash: string): Promise<void> {
  const at = new Date(hub.now());
  const isMine = await hub.db.$transaction(async (tx) => {
    const { count } = await tx.node.updateMany({
      where: { id: node.id, nextHash: hash },
      data: { credentialHash: hash, credentialAt: at, nextHash: null, overlapUntil: null, rotateAskedAt: null },
    });
    // Of two first uses at the same time, one.
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
 * The node that this credential belongs to. While a node changes its credential two are good: the old one until the new one
 * was used once, or until the overlap ends.
 * @throws Fault NODE_UNKNOWN, NODE_REVOKED
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
