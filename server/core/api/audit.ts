import type { Database, Transaction } from "#prisma/open.ts";
import type { ActorKind } from "#protocol/fleet/people.ts";
import type { Caller } from "./caller.ts";

/**
 * Records who did what to the hub, apart from the events that people read every day. A row carries both the id and the name
 * of the account or node, so that actions stay attributable after it is renamed.
 */

interface Actor {
  actorKind: ActorKind;
  actorId: string | null;
  tokenId: string | null;
  actor: string;
}

export function actorOf(caller: Caller): Actor {
  switch (caller.kind) {
    case "person":
      return { actorKind: "person", actorId: caller.person.id, tokenId: null, actor: caller.person.email };
    case "token": {
      const actor = `${caller.person.email} (API token ${caller.tokenName})`;
      return { actorKind: "token", actorId: caller.person.id, tokenId: caller.tokenId, actor };
    }
    case "node":
      return { actorKind: "node", actorId: caller.nodeId, tokenId: null, actor: caller.name };
    case "nobody":
      return { actorKind: "nobody", actorId: null, tokenId: null, actor: "-" };
  }
}

interface AuditEntry {
  action: string;
  /** The name of the object of the action, at that time. */
  subject: string;
  subjectId?: string;
  /** The client address, if it differs from the caller's. */
  address?: string;
}

/** The hub, or `{ db: tx, now }` to write the entry in the transaction of the change. */
interface Place {
  db: Pick<Database, "audit"> | Pick<Transaction, "audit">;
  now: () => number;
}

export async function audit({ db, now }: Place, caller: Caller, entry: AuditEntry): Promise<void> {
  const { action, subject, subjectId = null } = entry;
  const address = entry.address ?? ("address" in caller ? (caller.address ?? null) : null);
  await db.audit.create({ data: { at: new Date(now()), ...actorOf(caller), action, subject, subjectId, address } });
}
