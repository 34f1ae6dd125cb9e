import { UNKNOWN_FACTS, nodeFacts } from "#protocol/wire/hello.ts";
import { presenceAt } from "#protocol/fleet/node-status.ts";
import { progressReport } from "#protocol/wire/reports.ts";
import type { Database } from "#prisma/open.ts";
import { REAL_NODES } from "./foreign-node.ts";
import { eventRowOf } from "../events/event-row.ts";
import { transferRowOf } from "./transfer-row.ts";
import { Live } from "./live.ts";
import { parseStored } from "#server/platform/stored-json.ts";

const ENDED = ["done", "failed", "cancelled", "superseded"];

/** Returns the nodes whose latest event says that they fell silent, in one query. */
async function silentNodes(db: Database): Promise<Set<string>> {
  const rows = await db.$queryRaw<{ nodeId: string }[]>`
    SELECT "nodeId" FROM "Event" WHERE "kind" = 'node-silent' AND "id" IN (
      SELECT MAX("id") FROM "Event"
      WHERE "kind" IN ('node-silent', 'node-back', 'node-joined') AND "nodeId" IS NOT NULL GROUP BY "nodeId")`;
  return new Set(rows.map(({ nodeId }) => nodeId));
}

/**
 * Loads the fleet as it was when the hub last ran. Nodes that were not silent get the usual time to report before they count
 * as silent: the hub was down, not they.
 */
export async function loadLive(db: Database, now: number): Promise<Live> {
  const live = new Live();
  const silent = await silentNodes(db);
  const nodes = await db.node.findMany({
    where: REAL_NODES,
    include: { profile: { select: { name: true } } },
    orderBy: { name: "asc" },
  });
  for (const row of nodes) {
    const report = row.lastReport === null ? null : progressReport.safeParse(parseStored(row.lastReport));
    const facts = nodeFacts.safeParse(parseStored(row.facts));
    live.addNode(
      {
        id: row.id,
        enrolledAt: row.enrolledAt.getTime(),
        tokenId: row.tokenId,
        fleet: row.fleet,
        identity: row.identity,
        mayWrite: row.runs,
        name: row.name,
        profileId: row.profileId,
        profileName: row.profile.name,
        facts: facts.success ? facts.data : UNKNOWN_FACTS,
        revokedAt: row.revokedAt?.getTime() ?? null,
        leftAt: row.leftAt?.getTime() ?? null,
        lastSeenAt: row.lastSeenAt?.getTime() ?? null,
        presence: silent.has(row.id) ? "silent" : "heard",
        report: report?.success === true ? report.data : null,
        reportedAt: row.lastSeenAt?.getTime() ?? now,
        credentialSince: (row.credentialAt ?? row.enrolledAt).getTime(),
        isRotationAsked: row.rotateAskedAt !== null,
      },
      now,
    );
  }
  for (const node of live.nodes.values()) node.presence = presenceAt(node, now);
  // The first nodes that reconnect need an interval for the whole fleet.
  live.adaptCadence(now);
  const epochs = await db.epoch.findMany({ orderBy: { epoch: "asc" } });
  for (const { run, epoch, nodeId } of epochs) live.writers.set(run, { nodeId, epoch });
  for (const member of await db.epochMember.findMany()) live.joinWriters(member.run, member);
  const transfers = await db.transfer.findMany({ where: { state: { notIn: ENDED } }, include: { node: true } });
  for (const row of transfers) live.putTransfer(transferRowOf(row, row.node.name), { toWrite: "now" });
  const events = await db.event.findMany({ orderBy: { id: "desc" }, take: 50 });
  for (const row of events.toReversed()) live.addEvent(eventRowOf(row));
  return live;
}
