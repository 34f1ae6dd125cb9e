import type { z } from "zod";
import { manifest } from "#protocol/checkpoint.ts";
import { Fault } from "#protocol/fault.ts";
import type { planRestoreInput } from "#protocol/requests.ts";
import { isEnded } from "#protocol/transfer.ts";
import { formatBytes } from "#protocol/units.ts";
import type { CheckpointRow, RestoreCandidate, RestorePlan } from "#protocol/views.ts";
import { PRESETS, traitsOf } from "#storage/providers.ts";
import type { Hub } from "../hub.ts";
import { gpuOf, stateOf, type LiveNode } from "../live/live-node.ts";
import { bytesMoving, checkpointRowOf } from "../checkpoints/checkpoint-row.ts";
import { newestComplete } from "../checkpoints/newest.ts";
import { draftOf } from "../profiles/open-store.ts";

/** Room a restore needs beyond the files themselves. */
const HEADROOM = 1.05;

/** Free bytes a node must have for a checkpoint of `sizeBytes`. */
export const neededBytes = (sizeBytes: number): number => Math.ceil(sizeBytes * HEADROOM);

function whyNot(node: LiveNode, checkpoint: { sizeBytes: number; profileId: string }): string | null {
  const state = stateOf(node);
  if (state !== "online") return `it is ${state}`;
  if (node.profileId !== checkpoint.profileId)
    return `it was enrolled for another bucket profile (${node.profileName})`;
  const free = node.report?.disk?.freeBytes ?? null;
  const needed = neededBytes(checkpoint.sizeBytes);
  return free !== null && free < needed ? `only ${formatBytes(free)} free, ${formatBytes(needed)} needed` : null;
}

function busyWith(hub: Hub, node: LiveNode): string | null {
  for (const { row } of hub.live.transfers.values()) {
    if (row.nodeId !== node.id || isEnded(row.state)) continue;
    return `${row.direction === "upload" ? "uploading" : "restoring"} step ${row.step} of ${row.run}`;
  }
  return null;
}

function candidateOf(hub: Hub, node: LiveNode, checkpoint: CheckpointRow): RestoreCandidate {
  const rate = node.downBytesPerSecond;
  return {
    nodeId: node.id,
    name: node.name,
    state: stateOf(node),
    gpu: gpuOf(node.facts),
    freeBytes: node.report?.disk?.freeBytes ?? null,
    whyNot: whyNot(node, checkpoint),
    busyWith: busyWith(hub, node),
    etaMs: rate === null ? null : Math.round((checkpoint.sizeBytes / rate) * 1000),
    bytesPerSecond: rate,
  };
}

/** Fit ones first; among them the idle, then the fast, then those with room. */
const byFitness = (a: RestoreCandidate, b: RestoreCandidate): number =>
  Number(a.whyNot !== null) - Number(b.whyNot !== null) ||
  Number(a.busyWith !== null) - Number(b.busyWith !== null) ||
  (b.bytesPerSecond ?? 0) - (a.bytesPerSecond ?? 0) ||
  (b.freeBytes ?? 0) - (a.freeBytes ?? 0) ||
  (a.name < b.name ? -1 : 1);

/**
 * Everything the restore dialog shows, filled in: where it may go, how long that takes by the node's own measured rate,
 * what it costs, and the same as a command line.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE
 */
export async function planRestore(hub: Hub, input: z.infer<typeof planRestoreInput>): Promise<RestorePlan> {
  const row = await hub.db.checkpoint.findUnique({
    where: { id: input.checkpointId },
    include: { node: { select: { name: true } }, profile: true, content: true },
  });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const text = row.content?.manifest ?? null;
  if (row.state !== "complete" || text === null) {
    throw new Fault("CHECKPOINT_INCOMPLETE", { subject: `${row.run} step ${row.step}` });
  }
  const newest = await newestComplete(hub.db, row.run);
  const checkpoint = checkpointRowOf(row, { newestId: newest?.id ?? null, moving: bytesMoving(hub.live) });
  const candidates = [...hub.live.nodes.values()]
    .filter((node) => node.revokedAt === null && (input.nodeId === null || node.id === input.nodeId))
    .map((node) => candidateOf(hub, node, checkpoint))
    .toSorted(byFitness);
  const best = candidates.find((candidate) => candidate.whyNot === null) ?? null;
  const { provider } = draftOf(row.profile);
  const partBytes = traitsOf(provider).preferredPartBytes;
  const pieces = manifest.parse(JSON.parse(text)).files.flatMap((file) => file.extents);
  const suggestedPath = `/checkpoints/${checkpoint.run}/checkpoint-${checkpoint.step}`;
  return {
    checkpoint,
    isNewest: checkpoint.isNewest,
    requests: pieces.reduce((sum, { length }) => sum + Math.ceil(length / partBytes), 0),
    egress: PRESETS[provider].egress,
    candidates,
    suggestedNodeId: best?.nodeId ?? null,
    suggestedPath: folderOn(hub, best, checkpoint) ?? suggestedPath,
    cli: `tidemark restore ${checkpoint.run}@${checkpoint.step} ${folderOn(hub, best, checkpoint) ?? suggestedPath}`,
  };
}

/** Beside the folder the node watches (the one whose disk it reports), when it says which one that is. */
function folderOn(hub: Hub, best: RestoreCandidate | null, checkpoint: CheckpointRow): string | null {
  const watched = best === null ? undefined : hub.live.nodes.get(best.nodeId)?.report?.disk?.path;
  if (watched === undefined || !watched.startsWith("/") || watched === "/") return null;
  const base = watched.replace(/\/+$/, "");
  const own = base.endsWith(`/${checkpoint.run}`) ? base : `${base}/${checkpoint.run}`;
  return `${own}/checkpoint-${checkpoint.step}`;
}
