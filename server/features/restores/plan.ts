import { stepText } from "#protocol/checkpoint/step-words.ts";
import { isExpected } from "#protocol/fleet/node-status.ts";
import type * as z from "zod";
import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import { PACK_READ_BYTES, storedBytes } from "#protocol/checkpoint/packing.ts";
import { mayBePickle } from "#protocol/recognition/pickle-files.ts";
import { Fault, toFault, type FaultData } from "#protocol/faults/fault.ts";
import type { planRestoreInput } from "#protocol/wire/requests.ts";
import { placeOf, type ShownPlace } from "#protocol/checkpoint/place.ts";
import { USUAL_AT_ONCE, type FileChoice, type RestoreQueue } from "#protocol/wire/restoring.ts";
import { isEnded } from "#protocol/wire/transfer.ts";
import { formatBytes } from "#protocol/base/units.ts";
import type { RestoreCandidate, RestorePlan } from "#protocol/wire/views.ts";
import type { Checkpoint, Profile } from "#prisma/client/client.ts";
import { PRESETS, traitsOf } from "#storage/providers/providers.ts";
import { expectedOfNeighbours, expectedRate } from "#server/core/history/expected-rate.ts";
import { completeCopies, profilesFor, type Lying } from "#server/core/profiles/homes-of.ts";
import { bestFor } from "#server/core/runs/offer-copies.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { neededBytes } from "#server/core/nodes/choose-node.ts";
import { gpuOf, stateOf, type LiveNode } from "#server/core/live/live-node.ts";
import { bytesMoving, checkpointRowOf } from "#server/core/checkpoints/checkpoint-row.ts";
import { announcedIn } from "#server/core/checkpoints/manifest/check-manifest.ts";
import { completeBefore, newestComplete } from "#server/core/runs/newest.ts";
import { placeOfRow } from "#server/core/runs/place-of-row.ts";
import { createPauses, mapInSlices } from "#server/platform/pauses.ts";
import { draftOf } from "#server/core/profiles/open-store.ts";
import { offeredPaths, trainingOf } from "./node-places.ts";
import { estimateCost } from "#server/core/profiles/estimate-cost.ts";
import { refuseLocked } from "#server/core/checkpoints/refuse-locked.ts";
import { chooseParts, type ChosenParts } from "./choose-tensors.ts";
import { readChoice } from "./read-choice.ts";
import { refuseDamaged } from "#server/core/checkpoints/refuse-damaged.ts";
import { movingRestores } from "./release-restores.ts";

function whyNot(node: LiveNode, checkpoint: { sizeBytes: number; profileIds: ReadonlySet<string> }): string | null {
  const state = stateOf(node);
  if (!isExpected(state)) return `it is ${state}`;
  if (!checkpoint.profileIds.has(node.profileId))
    return `it was enrolled for another bucket profile (${node.profileName})`;
  const free = node.report?.disk?.freeBytes ?? null;
  const needed = neededBytes(checkpoint.sizeBytes);
  return free !== null && free < needed ? `only ${formatBytes(free)} free, ${formatBytes(needed)} needed` : null;
}

const DOING = {
  upload: "uploading",
  download: "restoring",
  verify: "verifying",
  drill: "rehearsing a restore of",
  copy: "copying",
} as const;

/** Describes the first unfinished transfer of each node. */
function busyNodes({ live }: Hub): Map<string, string> {
  const busy = new Map<string, string>();
  for (const { row } of live.transfers.values()) {
    if (busy.has(row.nodeId) || isEnded(row.state)) continue;
    busy.set(row.nodeId, `${DOING[row.direction]} ${stepText(row.step)} of ${row.run}`);
  }
  return busy;
}

function candidateOf(
  hub: Hub,
  node: LiveNode,
  about: {
    sizeBytes: number;
    others: number | null;
    profileIds: ReadonlySet<string>;
    copies: readonly Lying[];
    busy: ReadonlyMap<string, string>;
  },
): RestoreCandidate {
  const { sizeBytes, others, profileIds, copies, busy } = about;
  const from = bestFor(hub, { nodeId: node.id, copies });
  const way = { nodeId: node.id, profileId: from.profileId, direction: "download" as const };
  const rate = expectedRate(hub, way)?.bytesPerSecond ?? others;
  return {
    nodeId: node.id,
    name: node.name,
    state: stateOf(node),
    gpu: gpuOf(node.facts),
    freeBytes: node.report?.disk?.freeBytes ?? null,
    whyNot: whyNot(node, { profileIds, sizeBytes }),
    from: copies.length > 1 ? from.bucket : null,
    busyWith: busy.get(node.id) ?? null,
    training: trainingOf(node),
    etaMs: rate === null ? null : Math.round((sizeBytes / rate) * 1000),
    bytesPerSecond: rate,
  };
}

/**
 * Orders usable nodes first; among them idle ones, then those that do not train, then fast ones, then those with more free
 * space.
 */
const byFitness = (a: RestoreCandidate, b: RestoreCandidate): number =>
  Number(a.whyNot !== null) - Number(b.whyNot !== null) ||
  Number(a.busyWith !== null) - Number(b.busyWith !== null) ||
  Number(a.training !== null) - Number(b.training !== null) ||
  (b.bytesPerSecond ?? 0) - (a.bytesPerSecond ?? 0) ||
  (b.freeBytes ?? 0) - (a.freeBytes ?? 0) ||
  (a.name < b.name ? -1 : 1);

/**
 * Returns all that the restore dialog shows: possible nodes, the expected duration by the history of each node's link, and the
 * cost. Lists all nodes; `nodeId` says for which one the path is.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE
 */
export async function planRestore(hub: Hub, input: z.infer<typeof planRestoreInput>): Promise<RestorePlan> {
  const row = await hub.db.checkpoint.findUnique({
    where: { id: input.checkpointId },
    include: { node: { select: { name: true } }, profile: true, content: true, adoption: { select: { place: true } } },
  });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this checkpoint" });
  const text = row.content?.manifest ?? null;
  if (row.state !== "complete" || text === null) {
    throw new Fault("CHECKPOINT_INCOMPLETE", { subject: `${row.run} ${stepText(row.step)}` });
  }
  const content = { manifest: text, files: row.content?.files ?? "[]" };
  const { chosen, refusal } = await judgeChoice(hub, row, { content, choice: input.choice });
  const newest = await newestComplete(hub.db, row.run);
  const checkpoint = checkpointRowOf(row, { newestId: newest?.id ?? null, moving: bytesMoving(hub.live) });
  const way = { profileId: checkpoint.profileId, direction: "download" as const };
  const others = expectedOfNeighbours(hub, way)?.bytesPerSecond ?? null;
  const profileIds = await profilesFor(hub.db, row);
  const copies = await completeCopies(hub.db, row);
  const about = { sizeBytes: chosen.sizeBytes, others, profileIds, copies, busy: busyNodes(hub) };
  const nodes = [...hub.live.nodes.values()].filter((node) => node.revokedAt === null);
  const candidates = (await mapInSlices(nodes, (node) => candidateOf(hub, node, about))).toSorted(byFitness);
  const best =
    candidates.find((candidate) =>
      input.nodeId === null ? candidate.whyNot === null : candidate.nodeId === input.nodeId,
    ) ?? null;
  const { provider } = draftOf(row.profile);
  const partBytes = traitsOf(provider).preferredPartBytes;
  const pauses = createPauses();
  await pauses.take();
  const requests = await requestsFor(chosen.of, partBytes);
  await pauses.take();
  const place = placeFor(row, { text: content.files, chosen });
  await pauses.take();
  const instead = row.damagedAt === null ? null : await completeBefore(hub.db, row);
  return {
    checkpoint,
    isNewest: checkpoint.isNewest,
    chosen: { files: chosen.fileCount, bytes: chosen.sizeBytes, tensors: countOf(chosen) },
    pickles: chosen.tensors === null ? chosen.of.filter(({ path }) => mayBePickle(path)).length : 0,
    refusal,
    instead: instead === null ? null : { checkpointId: instead.id, step: Number(instead.step) },
    requests,
    cost: estimateCost(row.profile, { bytes: chosen.sizeBytes, reads: requests }),
    queue: await queueOf(hub, row.profile),
    egress: PRESETS[provider].egress,
    candidates,
    suggestedNodeId: best?.nodeId ?? null,
    ...offeredPaths(best === null ? undefined : hub.live.nodes.get(best.nodeId), row, place),
    place,
  };
}

/** Counts GET requests: each piece in requests of `partBytes`; files that share an object are read together. */
async function requestsFor(files: readonly StoredFile[], partBytes: number): Promise<number> {
  const pauses = createPauses();
  const bytes = new Map<string, { pieces: number; shared: Set<string>; total: number }>();
  for (const { path, extents } of files) {
    if (pauses.isDue()) await pauses.take();
    for (const extent of extents) {
      const { length } = storedBytes(extent);
      const known = bytes.get(extent.key) ?? { pieces: 0, shared: new Set(), total: 0 };
      known.shared.add(path);
      known.pieces += Math.ceil(length / partBytes);
      known.total += length;
      bytes.set(extent.key, known);
    }
  }
  return [...bytes.values()].reduce(
    (sum, { pieces, shared, total }) => sum + (shared.size > 1 ? Math.ceil(total / PACK_READ_BYTES) : pieces),
    0,
  );
}

const countOf = ({ tensors }: ChosenParts): RestorePlan["chosen"]["tensors"] =>
  tensors === null ? null : { count: tensors.count, bytes: tensors.bytes };

/** Resolves the choice. A choice that cannot be restored is planned as the whole checkpoint, with the reason of the refusal. */
async function judgeChoice(
  hub: Hub,
  row: Checkpoint,
  { content, choice }: { content: { manifest: string; files: string }; choice: FileChoice },
): Promise<{ chosen: ChosenParts; refusal: FaultData | null }> {
  try {
    const chosen = await chooseParts(hub, { checkpointId: row.id, content, choice });
    try {
      refuseDamaged(row, chosen.files);
      await refuseLocked(hub, row);
      return { chosen, refusal: null };
    } catch (error) {
      return { chosen, refusal: toFault(error).toData() };
    }
  } catch (error) {
    return { chosen: { ...(await readChoice(content, null)), tensors: null }, refusal: toFault(error).toData() };
  }
}

async function queueOf(hub: Hub, profile: Pick<Profile, "id" | "restoresAtOnce">): Promise<RestoreQueue> {
  const waiting = await hub.db.queuedRestore.count({
    where: { profileId: profile.id, releasedAt: null, transfer: { endedAt: null } },
  });
  const moving = (await movingRestores(hub)).filter(({ profileId }) => profileId === profile.id).length;
  return { atOnce: profile.restoresAtOnce ?? USUAL_AT_ONCE, moving, waiting };
}

/** Returns the place of the restored files. Tensors become files of their own, so they go into a folder. */
function placeFor(
  row: Checkpoint & { adoption: { place: string } | null },
  { text, chosen }: { text: string; chosen: ChosenParts },
): ShownPlace {
  const { role, adoption } = row;
  const step = Number(row.step);
  if (chosen.tensors !== null) return placeOf({ step, role, files: [] }, null);
  const files = announcedIn(text);
  const origin = adoption === null ? null : { place: adoption.place, kind: kindOfOrigin(adoption.place) };
  return placeOf({ step, role, files, origin }, placeOfRow(row));
}

const kindOfOrigin = (place: string): "folder" | "file" => (place.endsWith("/") ? "folder" : "file");
