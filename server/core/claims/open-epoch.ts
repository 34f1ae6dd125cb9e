import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { branchWords } from "#protocol/history/passed-over.ts";
import type { GroupClaim } from "#protocol/checkpoint/pieces.ts";
import { isTimeStep, stepSourceOf, stepText } from "#protocol/checkpoint/step-words.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { nodeName, runName, type RunName } from "#protocol/base/names.ts";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import type { Epoch } from "#prisma/client/client.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import { homesOf, profilesOfHomes } from "../profiles/homes-of.ts";
import { abandonNewer } from "../runs/abandon-newer.ts";
import { recordTakeover, type Start } from "../runs/record-loss.ts";
import type { LiveNode } from "../live/live-node.ts";
import { addMember } from "./claim-for-group.ts";
import { shutOutStandalone, writeToHomes } from "./write-claim.ts";
import type { Claimant } from "./may-claim.ts";
import { nothingFound, readRun } from "../record/read-run.ts";
import { showHistory } from "../record/show-history.ts";
import { branchOfRow } from "../runs/passed-over.ts";
import { currentEpoch, type newestComplete } from "../runs/newest.ts";
import { placeIn, placeOfRow } from "../runs/place-of-row.ts";

/** Opens epochs: writes the claim to the bucket, then to the database, and answers the node. */

export const MOST_TRIES = 20;
const ABOVE_LOST_HISTORY = 1_000;

export type Parent = { epoch: number; step: number } | null;
export type Newest = Awaited<ReturnType<typeof newestComplete>>;

/**
 * Returns the highest epoch that a bucket has named of a run; 0 when none has. Reads the buckets if the database does not
 * know: the run is new here, or in doubt. `isTogether`: several nodes write it together. @throws Fault CONFLICT when the run lives in another bucket; those of the store: an
 * unreadable bucket is not an empty one
 */
export async function openRun({ hub, run, node }: Claimant, isTogether = false): Promise<number> {
  const homes = { orderBy: { position: "asc" as const } };
  const known = await hub.db.run.findUnique({ where: { name: run }, include: { profile: true, homes } });
  if (known === null) {
    const createdAt = new Date(hub.now());
    await hub.db.run.create({ data: { name: run, profileId: node.profileId, createdAt, highestSeen: null } });
    emit(hub, null, ["runs", "profiles"]);
  } else if (known.profileId !== node.profileId && !known.homes.some(({ profileId }) => profileId === node.profileId)) {
    const way = isTogether
      ? "one manifest names the pieces of all its nodes, so they lie in one bucket: enrol this node there too"
      : "enrol this node there, or give the run another name";
    const detail = `the run lives in ${known.profile.name}; ${way}`;
    throw new Fault("CONFLICT", { op: "claimEpoch", subject: run, detail });
  } else if (known.highestSeen !== null) return known.highestSeen;
  const stores: OpenStore[] = [];
  const profileIds = known === null ? [node.profileId] : profilesOfHomes(known);
  for (const profileId of profileIds) stores.push(await hub.stores.open(profileId));
  return readHomes(hub, run, stores);
}

/** Records what these buckets know of a run; returns the highest epoch they name. @throws Fault those of the store */
export async function readHomes(hub: Hub, run: RunName, stores: readonly OpenStore[]): Promise<number> {
  let highestSeen: number | null = null;
  for (const store of stores) highestSeen = await readRun(hub, { store, run, isAwaited: true }, nothingFound());
  if (highestSeen !== 0) await showHistory(hub);
  return highestSeen ?? 0;
}

interface Claim {
  hub: Hub;
  run: RunName;
  node: LiveNode;
  last: Epoch | null;
  parent: Parent;
  /** The parent's checkpoint as far as lost work is counted from it. */
  goesOn: Start | null;
  /** A person chose the parent. */
  isChosen: boolean;
  /** The same node starts a new line of training in this run. */
  isLine: boolean;
  /** Where that line branches off, as far as the node said it. */
  branch?: LineBranch | undefined;
  /** Set for one of several nodes that write the run together. */
  group?: GroupClaim | undefined;
}

export function startOf(chosen: Newest): Start | null {
  if (chosen === null) return null;
  const point = { step: Number(chosen.step), at: chosen.capturedAt.getTime() };
  return { ...point, isByTime: isTimeStep({ ...point, source: stepSourceOf(placeOfRow(chosen)) }) };
}

export const unlessFault = (error: unknown): void => {
  if (!isFault(error)) throw error;
};

/** Writes the claim of this number. Returns the homes where another claim has the number; none: the claim is ours. */
export async function claimInBucket(
  { hub, run, node, parent, isChosen, branch, group }: Claim,
  epoch: number,
): Promise<OpenStore[]> {
  const homes = (await homesOf(hub.db, run))?.profileIds ?? [node.profileId];
  const stores: OpenStore[] = [];
  for (const profileId of homes) stores.push(await hub.stores.open(profileId));
  const claimed: EpochClaim = {
    format: "tidemark.epoch",
    version: 1,
    run,
    epoch,
    parent,
    node: { id: node.id, name: nodeName.parse(node.name) },
    ...(group !== undefined && { groupOf: group.of }),
    claimedAt: hub.now(),
    ...(isChosen && { isChosen: true }),
    ...(branch !== undefined && { branch }),
  };
  const elsewhere = await shutOutStandalone(hub, stores, claimed);
  if (elsewhere.length > 0) return elsewhere;
  const written = await writeToHomes(stores, claimed);
  return written.flatMap(({ store, isOurs }) => (isOurs ? [] : [store]));
}

export async function recordClaim(claim: Claim, epoch: number): Promise<Epoch> {
  const { hub, run, node, last, parent, goesOn, isChosen, isLine, branch, group } = claim;
  const now = hub.now();
  const { row, event, lost } = await hub.db.$transaction(async (tx) => {
    const { revokedAt } = await tx.node.findUniqueOrThrow({ where: { id: node.id } });
    if (revokedAt !== null) throw new Fault("NODE_REVOKED");
    const row = await tx.epoch.upsert({
      where: { run_epoch: { run, epoch } },
      // A hub was killed before it recorded the claim, which was then read from the bucket.
      update: {},
      create: {
        run,
        epoch,
        parentEpoch: parent?.epoch ?? null,
        parentStep: parent === null ? null : BigInt(parent.step),
        nodeId: node.id,
        claimedAt: new Date(now),
        isChosen,
        groupOf: group?.of ?? null,
        branch: branch === undefined ? null : JSON.stringify(branch),
      },
    });
    if (group !== undefined) await addMember(tx, { run, epoch, nodeId: node.id, group, now });
    // A handover by a person is valid for one claim.
    if (last?.nodeId !== node.id)
      await tx.run.update({ where: { name: run }, data: { handedToId: null, handedAt: null } });
    if (isChosen) await abandonNewer(tx, { run, epoch, parent }, new Date(now));
    const lost =
      // Steps that a person discards on purpose are not lost. The node of a new line, and each node of a group, reports its
      // own losses.
      last === null || isChosen || isLine || group !== undefined
        ? null
        : await recordTakeover(tx, { hub, run, epoch, lastNodeId: last.nodeId, node, parent: goesOn });
    // Uploads of the previous epoch can no longer be committed, except those of the line before a new one.
    if (branch === undefined)
      await tx.checkpoint.updateMany({ where: { run, state: "uploading" }, data: { state: "torn" } });
    const from = parent === null ? "from the start" : `from ${stepText(parent.step)}`;
    const verb = isChosen || isLine ? "starts" : "took over";
    const line = branch === undefined ? "" : `; ${branchWords(branch)}`;
    const text = last === null ? `began ${run}` : `${verb} ${run} ${from} (epoch ${epoch})${line}`;
    const about = { at: now, kind: "epoch-claimed" as const, work: "moving" as const, node, run };
    const event = await recordEvent(tx, { ...about, text, ...(parent === null ? {} : { step: parent.step }) });
    return { row, event, lost };
  });
  hub.live.writers.set(run, { nodeId: node.id, epoch });
  for (const other of hub.live.nodes.values()) {
    if (other.report?.runs.some((backlog) => backlog.run === run) === true) hub.live.touchNode(other);
  }
  emit(hub, event, ["runs", "checkpoints"]);
  if (lost !== null) emit(hub, lost);
  return row;
}

export const nextEpoch = (last: Epoch | null, highestSeen: number): number =>
  Math.max((last?.epoch ?? 0) + 1, highestSeen === 0 ? 1 : highestSeen + ABOVE_LOST_HISTORY);

/** Opens the next epoch of a run. */
export async function openEpoch(
  { hub, run, node }: Claimant,
  at: {
    highestSeen: number;
    parent: Newest;
    isLine: boolean;
    newest: Newest;
    branch?: LineBranch | undefined;
    group?: GroupClaim;
  },
): Promise<ClaimAnswer> {
  const { parent: chosen, isLine, newest, branch, group } = at;
  let { highestSeen } = at;
  const parent = chosen === null ? null : { epoch: chosen.writerEpoch, step: Number(chosen.step) };
  const goesOn = startOf(chosen);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const last = await currentEpoch(hub.db, run);
    const claim = { hub, run, node, last, parent, goesOn, isChosen: !isLine, isLine, branch, group };
    const epoch = nextEpoch(last, highestSeen);
    const taken = await claimInBucket(claim, epoch);
    if (taken.length === 0) return answerOf(await recordClaim(claim, epoch), newest);
    highestSeen = Math.max(epoch, await readHomes(hub, run, taken));
  }
  throw new Fault("CONFLICT", { op: "claimEpoch", subject: run });
}

/** Returns the answer to a claim. */
export function answerOf(
  { epoch, parentEpoch, parentStep, isChosen, groupOf, branch: stored }: Epoch,
  newest: Newest,
): ClaimAnswer {
  const branch = branchOfRow(stored);
  return {
    epoch,
    ...(groupOf !== null && { groupOf }),
    ...(isChosen && { isChosen: true }),
    ...(branch !== null && { branch }),
    parent: parentEpoch === null || parentStep === null ? null : { epoch: parentEpoch, step: Number(parentStep) },
    newest:
      newest === null
        ? null
        : {
            checkpointId: newest.id,
            run: runName.parse(newest.run),
            writerEpoch: newest.writerEpoch,
            step: Number(newest.step),
            capturedAt: newest.capturedAt.getTime(),
            ...placeIn(newest),
          },
  };
}
