import { nodeFacts } from "#protocol/wire/hello.ts";
import { REAL_NODES } from "../live/foreign-node.ts";
import type { Hub } from "../api/hub.ts";

/** Shows in the live state what was read from a bucket while the hub runs: nodes that are gone, and the writer of each run. */
export async function showHistory(hub: Pick<Hub, "db" | "live" | "now">): Promise<void> {
  const nodes = await hub.db.node.findMany({ where: REAL_NODES, include: { profile: { select: { name: true } } } });
  for (const row of nodes) {
    if (hub.live.nodes.has(row.id)) continue;
    const { id, name, profileId } = row;
    hub.live.addNode(
      {
        id,
        name,
        profileId,
        profileName: row.profile.name,
        enrolledAt: row.enrolledAt.getTime(),
        leftAt: row.leftAt?.getTime() ?? null,
        facts: nodeFacts.parse(JSON.parse(row.facts)),
      },
      hub.now(),
    );
  }
  const epochs = await hub.db.epoch.findMany({ orderBy: { epoch: "asc" } });
  for (const { run, epoch, nodeId } of epochs) hub.live.writers.set(run, { nodeId, epoch });
  for (const member of await hub.db.epochMember.findMany()) hub.live.joinWriters(member.run, member);
  hub.live.markStale(["runs", "checkpoints", "transfers", "profiles"]);
}
