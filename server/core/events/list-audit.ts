import type * as z from "zod";
import { ACTOR_KINDS, type ActorKind, type AuditRow, type listAuditInput } from "#protocol/fleet/people.ts";
import type { Audit } from "#prisma/client/client.ts";
import type { Hub } from "../api/hub.ts";

const kindOf = (text: string): ActorKind => ACTOR_KINDS.find((kind) => kind === text) ?? "nobody";

/** Returns the current names of the actors. Removed accounts and the hub itself have none. */
async function namesNow(hub: Hub, rows: readonly Audit[]): Promise<Map<string, string>> {
  const ids = [...new Set(rows.flatMap(({ actorId }) => (actorId === null ? [] : [actorId])))];
  const users = await hub.db.user.findMany({ where: { id: { in: ids } }, select: { id: true, email: true } });
  const names = new Map(users.map(({ id, email }) => [id, email]));
  for (const id of ids) {
    const node = hub.live.nodes.get(id);
    if (node !== undefined) names.set(id, node.name);
  }
  return names;
}

/** Returns audit entries that meet all conditions, newest first; `nextCursor` is null on the last page. */
export async function listAudit(
  hub: Hub,
  input: z.infer<typeof listAuditInput>,
): Promise<{ rows: AuditRow[]; nextCursor: number | null }> {
  const { actorId, action, subject, from, until, cursor, limit } = input;
  const found = await hub.db.audit.findMany({
    where: {
      AND: [
        ...(cursor === null ? [] : [{ id: { lt: cursor } }]),
        ...(actorId === null ? [] : [{ OR: [{ actorId }, { tokenId: actorId }] }]),
        ...(action === null ? [] : [{ action }]),
        ...(subject === null ? [] : [{ OR: [{ subjectId: subject }, { subject: { contains: subject } }] }]),
        ...(from === null ? [] : [{ at: { gte: new Date(from) } }]),
        ...(until === null ? [] : [{ at: { lt: new Date(until) } }]),
      ],
    },
    orderBy: { id: "desc" },
    take: limit + 1,
  });
  const shown = found.slice(0, limit);
  const names = await namesNow(hub, shown);
  const rows = shown.map((row) => ({
    id: row.id,
    at: row.at.getTime(),
    actorKind: kindOf(row.actorKind),
    actorId: row.actorId,
    tokenId: row.tokenId,
    actor: row.actor,
    actorNow: row.actorId === null ? null : (names.get(row.actorId) ?? null),
    action: row.action,
    subject: row.subject,
    subjectId: row.subjectId,
    address: row.address,
    times: row.times,
    lastAt: row.lastAt?.getTime() ?? null,
  }));
  return { rows, nextCursor: found.length > limit ? (rows.at(-1)?.id ?? null) : null };
}
