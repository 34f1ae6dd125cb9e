import { stepText } from "#protocol/checkpoint/step-words.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import { command } from "#protocol/wire/commands.ts";
import { Fault, sentenceOf } from "#protocol/faults/fault.ts";
import { USUAL_AT_ONCE } from "#protocol/wire/restoring.ts";
import type { QueuedRestore } from "#prisma/client/client.ts";
import { countUp } from "#server/platform/counters.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { emit, recordEvent } from "#server/core/events/record-event.ts";
import { stateOf } from "#server/core/live/live-node.ts";
import { chooseReleases } from "./choose-releases.ts";

/**
 * Releases waiting restores when it is their turn. The queue is in the database and read again each time, so that a hub resumes
 * after a kill. A restore is released and its command created in one transaction.
 */

/** Most restores of one bucket profile to release at once; the next ones follow a second later. */
const MOST_AT_A_TIME = 2;
const MOST_READ = 2_000;

const canHear = (hub: Hub, nodeId: string): boolean => {
  const node = hub.live.nodes.get(nodeId);
  return node !== undefined && isExpected(stateOf(node));
};

/**
 * Returns the released restores in progress. A restore on an unreachable node takes no place, so that others need not wait for
 * it.
 */
export async function movingRestores(hub: Hub): Promise<{ profileId: string; nodeId: string }[]> {
  const moving = await hub.db.queuedRestore.findMany({
    where: { releasedAt: { not: null }, transfer: { endedAt: null, state: { not: "paused" } } },
    select: { profileId: true, nodeId: true },
  });
  return moving.filter(({ nodeId }) => canHear(hub, nodeId));
}

/** Releases due restores, one call at a time; called at every tick and whenever a restore was queued. */
export async function releaseRestores(hub: Hub): Promise<void> {
  if (!hub.live.mayRestoresWait) return;
  hub.live.mayRestoresWait = false;
  try {
    await hub.locks.run("release restores", () => releaseDue(hub));
  } catch (error) {
    hub.live.mayRestoresWait = true;
    throw error;
  }
}

async function releaseDue(hub: Hub): Promise<void> {
  const waiting = await hub.db.queuedRestore.findMany({
    where: { releasedAt: null, transfer: { state: "waiting", endedAt: null } },
    orderBy: [{ createdAt: "asc" }, { position: "asc" }],
    take: MOST_READ,
  });
  if (waiting.length === 0) return;
  hub.live.mayRestoresWait = true;
  const profiles = await hub.db.profile.findMany({ select: { id: true, restoresAtOnce: true } });
  const caps = new Map(profiles.map(({ id, restoresAtOnce }) => [id, restoresAtOnce]));
  const batches = await hub.db.queuedRestore.groupBy({
    by: ["batchId"],
    where: { batchId: { in: [...new Set(waiting.map(({ batchId }) => batchId))] } },
    _max: { releasedAt: true },
  });
  const served = new Map(batches.map(({ batchId, _max }) => [batchId, _max.releasedAt?.getTime() ?? null]));
  const byTransfer = new Map(waiting.map((one) => [one.transferId, one]));
  const chosen = chooseReleases({
    waiting: waiting.map((one) => ({ ...one, createdAt: one.createdAt.getTime() })),
    moving: await movingRestores(hub),
    capOf: (id) => caps.get(id) ?? USUAL_AT_ONCE,
    servedAt: (id) => served.get(id) ?? null,
    canHear: (id) => canHear(hub, id),
    most: MOST_AT_A_TIME,
    now: hub.now(),
  });
  for (const { transferId } of chosen) {
    const item = byTransfer.get(transferId);
    if (item !== undefined) await release(hub, item);
  }
}

async function release(hub: Hub, item: QueuedRestore): Promise<void> {
  const order = command.parse(JSON.parse(item.body));
  const at = new Date(hub.now());
  const outcome = await hub.db.$transaction(async (tx) => {
    // Somebody may have cancelled it, or revoked its node, since it was chosen.
    const transfer = await tx.transfer.findUniqueOrThrow({ where: { id: item.transferId } });
    if (transfer.state !== "waiting") return null;
    const { state, run, step } = await tx.checkpoint.findUniqueOrThrow({ where: { id: item.checkpointId } });
    if (state !== "complete") {
      const fault = new Fault("CHECKPOINT_INCOMPLETE").toData();
      const data = { state: "failed", endedAt: at, fault: JSON.stringify(fault) };
      await tx.transfer.update({ where: { id: item.transferId }, data });
      const text = `could not restore ${stepText(step)} of ${run}: ${sentenceOf(fault)}`;
      const node = hub.live.nodes.get(item.nodeId);
      const line = { at: at.getTime(), kind: "restore-failed" as const, work: "risk" as const, text, run, fault };
      return {
        event: await recordEvent(tx, { ...line, step: Number(step), ...(node !== undefined && { node }) }),
        fault,
      };
    }
    await tx.queuedRestore.update({ where: { transferId: item.transferId }, data: { releasedAt: at } });
    await tx.command.create({
      data: {
        id: order.id,
        requestId: item.requestId,
        nodeId: item.nodeId,
        kind: order.kind,
        transferId: item.transferId,
        checkpointId: item.checkpointId,
        body: item.body,
        state: "sent",
        createdAt: at,
      },
    });
    return "released";
  });
  if (outcome === null) return;
  if (outcome !== "released") {
    const row = hub.live.transfers.get(item.transferId)?.row;
    const ended = { state: "failed" as const, endedAt: at.getTime(), fault: outcome.fault };
    if (row !== undefined) hub.live.putTransfer({ ...row, ...ended }, { toWrite: "now" });
    emit(hub, outcome.event, ["transfers"]);
    return;
  }
  countUp(hub.counters.commands, "sent");
  hub.live.send(item.nodeId, { type: "command", command: order });
}
