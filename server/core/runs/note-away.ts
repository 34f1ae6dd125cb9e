import { isExpected } from "#protocol/fleet/node-status.ts";
import type { HomeAway } from "#protocol/wire/homes.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { stateOf, type LiveNode } from "../live/live-node.ts";

/**
 * Nodes say in their reports which buckets they cannot reach. However many of them do, an outage is one line of history when
 * the first one says so and one when the last one has it back.
 */

/** Nodes that are heard and cannot reach a bucket now, and since when the first of them cannot; epoch ms. */
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

/** After a report of this node was taken; `before`: what it said the last time. */
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
