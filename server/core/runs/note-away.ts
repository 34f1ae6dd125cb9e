import { isExpected } from "#protocol/fleet/node-status.ts";
import type { HomeAway } from "#protocol/wire/homes.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf, type LiveNode } from "../live/live-node.ts";

/**
 * Records outages of buckets, which nodes report. However many nodes report an outage, it makes two events: when the first
 * node loses the bucket, and when the last one reaches it again.
 */

/**
 * Returns the number of live nodes that cannot reach a bucket, and since when (epoch ms) the first of them cannot; null:
 * none.
 */
export function awayFor(hub: Pick<Hub, "live">, profileId: string): { nodes: number; since: number } | null {
  let nodes = 0;
  let since = Infinity;
  for (const node of hub.live.nodes.values()) {
    if (!isExpected(stateOf(node))) continue;
    const away = node.report?.homesAway?.find((one) => one.profileId === profileId);
    if (away === undefined) continue;
    nodes++;
    since = Math.min(since, away.since);
  }
  return nodes === 0 ? null : { nodes, since };
}

/** Records changes after a report of this node; `before` is what its previous report said. */
export async function noteAway(
  hub: Pick<Hub, "live" | "db" | "now">,
  node: LiveNode,
  before: readonly HomeAway[],
): Promise<void> {
  const now = node.report?.homesAway ?? [];
  const had = new Set(before.map(({ profileId }) => profileId));
  const has = new Set(now.map(({ profileId }) => profileId));
  const changed = [
    ...[...has].filter((id) => !had.has(id)).map((id) => ({ id, kind: "home-away" as const, others: 1 })),
    ...[...had].filter((id) => !has.has(id)).map((id) => ({ id, kind: "home-back" as const, others: 0 })),
  ];
  for (const { id, kind, others } of changed) {
    if ((awayFor(hub, id)?.nodes ?? 0) !== others) continue;
    const profile = await hub.db.profile.findUnique({ where: { id }, select: { name: true } });
    if (profile === null) continue;
    const text =
      kind === "home-away"
        ? `cannot reach ${profile.name}: what it saves goes to the other homes of its runs`
        : `reaches ${profile.name} again`;
    const work = kind === "home-away" ? ("risk" as const) : ("safe" as const);
    emit(hub, await recordEvent(hub.db, { at: hub.now(), kind, work, node, text }), ["runs", "profiles"]);
  }
}
