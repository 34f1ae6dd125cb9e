import { isExpected } from "#protocol/fleet/node-status.ts";
import { MOVING_KINDS } from "#protocol/wire/commands.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { newestComplete } from "#server/core/runs/newest.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { stateOf } from "#server/core/live/live-node.ts";
import { newId } from "#server/platform/random-id.ts";
import { transferRowOf } from "#server/core/live/transfer-row.ts";
import { askCheck } from "#server/core/transfers/ask-check.ts";
import { idleNodes, neededBytes } from "#server/core/nodes/choose-node.ts";
import { dueAt, lastDrills, ruleOf } from "./drill-schedule.ts";

/**
 * Runs restore drills by the clock. When a drill of a run is due, an idle node restores its newest complete checkpoint and
 * deletes it again. Each bucket profile has one drill at a time; the run that has waited longest goes first. A drill that is
 * impossible now is tried again at the next tick. Due times are computed from the database, so a restart changes nothing.
 */

/** An idle node accepts the drill at once, or is not idle any more. */
const VALID_MS = 600_000;
/** A drill is given up when its node is silent this long. */
const LOST_AFTER_MS = 3_600_000;

/** Returns why a drill that is due does not begin; null when it could. */
export function whyNotNow(
  hub: Hub,
  about: { profileId: string; sizeBytes: number; isProfileBusy: boolean },
): string | null {
  if (about.isProfileBusy) return "another drill from the same bucket to end";
  const roomBytes = neededBytes(about.sizeBytes);
  return idleNodes(hub, { profileId: about.profileId, roomBytes }).length > 0
    ? null
    : "a node that is online, has room and nothing to do";
}

/** Returns the bucket profiles with a drill in progress. */
export async function drillingProfiles(hub: Hub): Promise<ReadonlySet<string>> {
  const open = await hub.db.transfer.findMany({
    where: { direction: "drill", endedAt: null },
    include: { node: { select: { profileId: true } } },
  });
  return new Set(open.map(({ node }) => node.profileId));
}

async function giveUpLost(hub: Hub): Promise<void> {
  const open = await hub.db.transfer.findMany({
    where: { direction: "drill", endedAt: null },
    include: { node: { select: { name: true } } },
  });
  const now = hub.now();
  for (const row of open) {
    const node = hub.live.nodes.get(row.nodeId);
    const quietMs = node === undefined ? Infinity : now - (node.lastSeenAt ?? node.quietSince);
    if (node !== undefined && (isExpected(stateOf(node)) || quietMs < LOST_AFTER_MS)) continue;
    const endedAt = new Date(now);
    const fault = JSON.stringify(
      new Fault("EXPIRED", { op: "drill", detail: "its node was not heard any more" }).toData(),
    );
    const ended = await hub.db.$transaction(async (tx) => {
      await tx.command.updateMany({
        where: { transferId: row.id, kind: { in: [...MOVING_KINDS] }, endedAt: null },
        data: { state: "cancelled", endedAt },
      });
      return tx.transfer.update({ where: { id: row.id }, data: { state: "cancelled", endedAt, fault } });
    });
    hub.live.putTransfer(transferRowOf(ended, row.node.name), { toWrite: "now" });
    hub.live.markStale(["transfers", "checkpoints"]);
  }
}

/** Begins the drills that are due and possible. */
export const runDrills = (hub: Hub): Promise<void> => hub.locks.run("drills", () => beginDue(hub));

async function beginDue(hub: Hub): Promise<void> {
  const rules = await hub.db.drillRule.findMany();
  if (rules.every(({ everyMs }) => everyMs === 0n)) return;
  await giveUpLost(hub);
  const runs = await hub.db.run.findMany({ select: { name: true, profileId: true } });
  const last = await lastDrills(
    hub,
    runs.map(({ name }) => name),
  );
  const now = hub.now();
  const due = runs
    .flatMap(({ name, profileId }) => {
      const at = dueAt(ruleOf(rules, name), last.get(name) ?? null);
      return at === null || at > now ? [] : [{ name, profileId, at }];
    })
    .toSorted((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1));
  const busy = new Set(await drillingProfiles(hub));
  for (const { name, profileId } of due) {
    if (busy.has(profileId)) continue;
    // A run that cannot be drilled blocks no other run, and does not fail the caller's request.
    const hasBegun = await begin(hub, name).catch((error: unknown) => {
      hub.log.error({ error, run: name }, "a restore drill did not begin");
      return false;
    });
    if (hasBegun) busy.add(profileId);
  }
}

/** Begins the drill of a run on an idle node. Returns false where nothing can be drilled now. */
async function begin(hub: Hub, run: string): Promise<boolean> {
  const checkpoint = await newestComplete(hub.db, run);
  if (checkpoint === null) return false;
  const roomBytes = neededBytes(Number(checkpoint.sizeBytes));
  const [node] = idleNodes(hub, { profileId: checkpoint.profileId, roomBytes });
  if (node === undefined) return false;
  await askCheck(hub, { requestId: newId(), kind: "drill", checkpoint, node, validMs: VALID_MS, actor: null });
  return true;
}
