import { formatDuration } from "#protocol/base/units.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import type { LiveNode } from "../live/live-node.ts";

/** Notes a sign of life of a node. One that was silent or had stopped cleanly is back, which is recorded as an event. */
export async function hearFrom(hub: Hub, node: LiveNode): Promise<void> {
  const now = hub.now();
  const { presence, leftAt, lastSeenAt } = node;
  const silent = presence === "silent";
  hub.live.noteHeard(node, now);
  node.dirty = true;
  if (presence === "heard" && leftAt === null) return;
  node.leftAt = null;
  hub.live.touchNode(node);
  if (presence === "unconfirmed" && leftAt === null) {
    hub.live.markStale(["runs"]);
    return;
  }
  if (leftAt !== null) await hub.db.node.updateMany({ where: { id: node.id }, data: { leftAt: null } });
  const away = lastSeenAt === null ? "" : ` after ${formatDuration(now - lastSeenAt)}`;
  const text = silent ? `is back${away}` : `is back after a clean stop`;
  emit(hub, await recordEvent(hub.db, { at: now, kind: "node-back", work: "safe", node, text }), ["runs"]);
}
