import type * as z from "zod";
import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer, ClaimFrom, claimEpochInput } from "#protocol/wire/hello.ts";
import { nodeName, runName, type RunName } from "#protocol/base/names.ts";
import type { Epoch } from "#prisma/client/client.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../api/hub.ts";
import { recordTakeover } from "../runs/record-loss.ts";
import type { LiveNode } from "../live/live-node.ts";
import { hearCaller } from "../nodes/hear-caller.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import type { GroupClaim } from "#protocol/checkpoint/pieces.ts";
import type { Context } from "../api/trpc.ts";
import { requireJoinable } from "../runs/require-joinable.ts";
import { homesOf } from "../profiles/homes-of.ts";
import { abandonNewer } from "../runs/abandon-newer.ts";
import { chooseStart } from "./choose-start.ts";
import { addMember, findGroupPlace, joinEpoch } from "./claim-for-group.ts";
import { markPrefix } from "../profiles/mark-prefix.ts";
import { shutOutStandalone, writeToHomes } from "./write-claim.ts";
import { joinOpen } from "../checkpoints/join-step.ts";
import { notingRefusal, requireAllowed, requireFree, requireSameWay, type Claimant } from "./may-claim.ts";
import { nothingFound, readRun } from "../record/read-run.ts";
import { showHistory } from "../record/show-history.ts";
import { currentEpoch, doubtfulAfter, newestComplete, newestOfStep } from "../runs/newest.ts";
import { placeIn } from "../runs/place-of-row.ts";
import { requireWriter } from "../runs/require-writer.ts";
import type { NodeCaller } from "../api/caller.ts";

/**
 * Claims the right to write a run. The node of the latest epoch goes on with it. Any other node opens the next epoch, which
 * starts from the newest complete checkpoint and fences off its predecessor. The claim is written to the bucket, under a
 * write-once key, before the database. So a hub that lost its database cannot hand out the same number twice. A hub that does
 * not know the run, or finds a claim that its database lacks, first reads the run's history from the bucket. Such a claim
 * counts if a killed hub wrote it for this very node. Otherwise it comes from a history that the database has lost, and
 * numbers continue well above it. `may-claim` decides which node may open the next epoch.
 */

const MOST_TRIES = 20;
const ABOVE_LOST_HISTORY = 1_000;

type Parent = { epoch: number; step: number } | null;
type Newest = Awaited<ReturnType<typeof newestComplete>>;

/**
 * Returns the highest epoch that a bucket has named of a run; 0 when none has. Reads the buckets if the database does not
 * know: the run is new here, or in doubt. @throws Fault CONFLICT when the run lives in another bucket; those of the store: an
 * unreadable bucket is not an empty one
 */
async function openRun(hub: Hub, run: RunName, node: LiveNode): Promise<number> {
  const known = await hub.db.run.findUnique({ where: { name: run }, include: { profile: true, homes: true } });
  if (known === null) {
    const createdAt = new Date(hub.now());
    await hub.db.run.create({ data: { name: run, profileId: node.profileId, createdAt, highestSeen: null } });
    emit(hub, null, ["runs", "profiles"]);
  } else if (known.profileId !== node.profileId && !known.homes.some(({ profileId }) => profileId === node.profileId)) {
    const detail = `the run lives in ${known.profile.name}; enrol this node there, or give the run another name`;
    throw new Fault("CONFLICT", { op: "claimEpoch", subject: run, detail });
  } else if (known.highestSeen !== null) return known.highestSeen;
  const stores: OpenStore[] = [];
  for (const profileId of (await homesOf(hub.db, run))?.profileIds ?? [node.profileId]) {
    stores.push(await hub.stores.open(profileId));
  }
  return readHomes(hub, run, stores);
}

/** Records what these buckets know of a run; returns the highest epoch they name. @throws Fault those of the store */
async function readHomes(hub: Hub, run: RunName, stores: readonly OpenStore[]): Promise<number> {
  for (const store of stores) await readRun(hub, { store, run }, nothingFound());
  const { highestSeen } = await hub.db.run.findUniqueOrThrow({ where: { name: run } });
  if (highestSeen !== 0) await showHistory(hub);
  return highestSeen ?? 0;
}

interface Claim {
  hub: Hub;
  run: RunName;
  node: LiveNode;
  last: Epoch | null;
  parent: Parent;
  /** When the parent was captured, epoch ms. */
  goesOnAt: number | null;
  /** A person chose the parent. */
  isChosen: boolean;
  /** The same node starts a new line of training in this run. */
  isLine: boolean;
  /** Set for one of several nodes that write the run together. */
  group?: GroupClaim | undefined;
}

const unlessFault = (error: unknown): void => {
  if (!isFault(error)) throw error;
};

/** Writes the claim of this number. Returns the homes where another claim has the number; none: the claim is ours. */
async function claimInBucket({ hub, run, node, parent, isChosen, group }: Claim, epoch: number): Promise<OpenStore[]> {
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
  };
  const elsewhere = await shutOutStandalone(hub, stores, claimed);
  if (elsewhere.length > 0) return elsewhere;
  const written = await writeToHomes(stores, claimed);
  return written.flatMap(({ store, isOurs }) => (isOurs ? [] : [store]));
}

async function recordClaim(claim: Claim, epoch: number): Promise<Epoch> {
  const { hub, run, node, last, parent, goesOnAt, isChosen, isLine, group } = claim;
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
      },
    });
    if (group !== undefined) await addMember(tx, { run, epoch, nodeId: node.id, group, now });
    // A handover by a person is valid for one claim.
    if (last?.nodeId !== node.id)
      await tx.run.update({ where: { name: run }, data: { handedToId: null, handedAt: null } });
    if (isChosen) await abandonNewer(tx, { run, epoch, parent }, new Date(now));
    const goesOn = parent === null || goesOnAt === null ? null : { step: parent.step, at: goesOnAt };
    const lost =
      // Steps that a person discards on purpose are not lost. The node of a new line, and each node of a group, reports its
      // own losses.
      last === null || isChosen || isLine || group !== undefined
        ? null
        : await recordTakeover(tx, { hub, run, epoch, lastNodeId: last.nodeId, node, parent: goesOn });
    // Uploads of the previous epoch can no longer be committed.
    await tx.checkpoint.updateMany({ where: { run, state: "uploading" }, data: { state: "torn" } });
    const from = parent === null ? "from the start" : `from step ${parent.step}`;
    const verb = isChosen || isLine ? "starts" : "took over";
    const text = last === null ? `began ${run}` : `${verb} ${run} ${from} (epoch ${epoch})`;
    const line = { at: now, kind: "epoch-claimed" as const, work: "moving" as const, node, run };
    const event = await recordEvent(tx, { ...line, text, ...(parent === null ? {} : { step: parent.step }) });
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

/**
 * Claims the run for the calling node. `from` in the input is the start that a person chose. The epoch it opens is the run's
 * line from then on. The same value again goes on with that line, so a container restarted with the same command loses no
 * work. @throws Fault RUN_NOT_ALLOWED, RUN_IN_USE, NODE_REVOKED, CONFLICT, NOT_FOUND (no complete checkpoint of that step),
 * and the faults of the store
 */
export async function claimEpoch(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof claimEpochInput>,
): Promise<ClaimAnswer> {
  const node = await hearCaller({ hub, caller });
  const { run, from, isLine = false, group } = input;
  return hub.locks.run(`run ${run}`, () =>
    notingRefusal({ hub, run, node }, async () => {
      await requireAllowed({ hub, run, node });
      const highestSeen = await openRun(hub, run, node);
      await requireSameWay({ hub, run, node });
      if (group !== undefined) return claimTogether({ hub, run, node }, { highestSeen, group, from });
      await requireFree({ hub, run, node }, await currentEpoch(hub.db, run));
      // An earlier version of the hub left no mark, so an epoch that goes on needs one too. A failure to write it blocks no
      // claim.
      await markPrefix(hub, await hub.stores.open(node.profileId)).catch(unlessFault);
      if (isLine) return claimLine({ hub, run, node }, highestSeen);
      if (from === undefined) return withDoubtful(hub, run, await claimNewest({ hub, run, node }, highestSeen));
      const chosen = await chooseStart(hub.db, run, from);
      if (chosen === "as it is")
        return { ...(await claimNewest({ hub, run, node }, highestSeen)), from: { isNew: false } };
      return { ...(await claimChosen({ hub, run, node }, { highestSeen, chosen })), from: { isNew: true } };
    }),
  );
}

/**
 * Claims the run of a job for the node that is handed the job. The person who submitted the job has decided that it takes the
 * run over, so neither patterns nor the present writer refuse it. @throws Fault NODE_REVOKED, CONFLICT, and the faults of the
 * store
 */
export const claimForJob = ({ hub, run, node }: Claimant): Promise<ClaimAnswer> =>
  hub.locks.run(`run ${run}`, async () => {
    const highestSeen = await openRun(hub, run, node);
    await markPrefix(hub, await hub.stores.open(node.profileId)).catch(unlessFault);
    return withDoubtful(hub, run, await claimNewest({ hub, run, node }, highestSeen));
  });

/**
 * Opens an epoch that starts at the beginning, for a program that started over. Older checkpoints stay the newest until the
 * new line has a complete one. @throws Fault EPOCH_OVER when another node writes the run by now
 */
async function claimLine({ hub, run, node }: Claimant, highestSeen: number): Promise<ClaimAnswer> {
  const writer = await currentEpoch(hub.db, run);
  if (writer !== null) await requireWriter(hub.db, { run, epoch: writer.epoch, nodeId: node.id });
  const newest = await newestComplete(hub.db, run);
  return openEpoch({ hub, run, node }, { highestSeen, parent: null, isLine: true, newest });
}

/** Claims for one of several nodes that write the run together: it joins the others' epoch, or opens the next one. */
async function claimTogether(
  claimant: Claimant,
  about: { highestSeen: number; group: GroupClaim; from: ClaimFrom | undefined },
): Promise<ClaimAnswer> {
  const { hub, run } = claimant;
  const { highestSeen, group, from } = about;
  await requireJoinable(hub, run);
  await joinOpen(hub, run);
  const chosen = from === undefined ? ("as it is" as const) : await chooseStart(hub.db, run, from);
  const isNew = chosen !== "as it is";
  const last = await currentEpoch(hub.db, run);
  const place = await findGroupPlace(claimant, { group, last, highestSeen });
  const said = from === undefined ? {} : { from: { isNew } };
  if (isNew || last === null || place === "open") {
    const newest = isNew ? chosen : await newestComplete(hub.db, run);
    const at = { highestSeen, parent: newest, isLine: !isNew, newest, group };
    return withDoubtful(hub, run, { ...(await openEpoch(claimant, at)), ...said });
  }
  if (place === "join") await joinEpoch(claimant, last, group);
  // All nodes of a group resume from the same checkpoint, even if a newer one has become complete.
  const isAtStart = place === "join" || group.start !== undefined;
  const newest = isAtStart ? await parentCheckpoint(hub, last) : await newestComplete(hub.db, run);
  return withDoubtful(hub, run, { ...answerOf(last, newest), ...said });
}

/** Returns the checkpoint that an epoch started from. */
async function parentCheckpoint(hub: Hub, { run, parentEpoch, parentStep }: Epoch): Promise<Newest> {
  if (parentEpoch === null || parentStep === null) return null;
  const which = { run, writerEpoch: parentEpoch, step: parentStep, state: "complete", role: null };
  const found = await hub.db.checkpoint.findFirst({ where: which, orderBy: { committedAt: "desc" } });
  return found ?? newestOfStep(hub.db, run, Number(parentStep));
}

/** Opens an epoch that starts from the checkpoint that a person chose; null: at the beginning. */
function claimChosen(
  claimant: Claimant,
  { highestSeen, chosen }: { highestSeen: number; chosen: Newest },
): Promise<ClaimAnswer> {
  return openEpoch(claimant, { highestSeen, parent: chosen, isLine: false, newest: chosen });
}

async function openEpoch(
  { hub, run, node }: Claimant,
  at: { highestSeen: number; parent: Newest; isLine: boolean; newest: Newest; group?: GroupClaim },
): Promise<ClaimAnswer> {
  const { parent: chosen, isLine, newest, group } = at;
  let { highestSeen } = at;
  const parent = chosen === null ? null : { epoch: chosen.writerEpoch, step: Number(chosen.step) };
  const goesOnAt = chosen?.capturedAt.getTime() ?? null;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const last = await currentEpoch(hub.db, run);
    const claim = { hub, run, node, last, parent, goesOnAt, isChosen: !isLine, isLine, group };
    const epoch = nextEpoch(last, highestSeen);
    const taken = await claimInBucket(claim, epoch);
    if (taken.length === 0) return answerOf(await recordClaim(claim, epoch), newest);
    highestSeen = Math.max(epoch, await readHomes(hub, run, taken));
  }
  throw new Fault("CONFLICT", { op: "claimEpoch", subject: run });
}

/** Adds the newer but doubtful checkpoint that a person might prefer to resume from. */
async function withDoubtful(hub: Hub, run: RunName, answer: ClaimAnswer): Promise<ClaimAnswer> {
  const { newest } = answer;
  const after = newest === null ? null : { writerEpoch: newest.writerEpoch, step: BigInt(newest.step) };
  const found = await doubtfulAfter(hub.db, run, after);
  return found === null ? answer : { ...answer, doubtful: { step: Number(found.step), why: found.doubt ?? "" } };
}

const nextEpoch = (last: Epoch | null, highestSeen: number): number =>
  Math.max((last?.epoch ?? 0) + 1, highestSeen === 0 ? 1 : highestSeen + ABOVE_LOST_HISTORY);

async function claimNewest({ hub, run, node }: Claimant, seen: number): Promise<ClaimAnswer> {
  let highestSeen = seen;
  const before = await currentEpoch(hub.db, run);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const last = await currentEpoch(hub.db, run);
    const newest = await newestComplete(hub.db, run);
    const parent = newest === null ? null : { epoch: newest.writerEpoch, step: Number(newest.step) };
    const goesOnAt = newest?.capturedAt.getTime() ?? null;
    const claim = { hub, run, node, last, parent, goesOnAt, isChosen: false, isLine: false };
    if (last !== null && last.nodeId === node.id && last.epoch >= highestSeen) {
      if (last.epoch === before?.epoch) return answerOf(last, newest);
      if (goesOnFrom(last, parent)) return answerOf(await recordClaim({ ...claim, last: before }, last.epoch), newest);
    }
    const epoch = nextEpoch(last, highestSeen);
    const taken = await claimInBucket(claim, epoch);
    if (taken.length === 0) return answerOf(await recordClaim(claim, epoch), newest);
    highestSeen = Math.max(epoch, await readHomes(hub, run, taken));
  }
  throw new Fault("CONFLICT", { op: "claimEpoch", subject: run });
}

/** Returns whether an earlier epoch started from, or has itself written, the checkpoint that its node would resume from now. */
const goesOnFrom = ({ epoch, parentEpoch, parentStep }: Epoch, parent: Parent): boolean =>
  parent?.epoch === epoch ||
  (parentEpoch === (parent?.epoch ?? null) && parentStep === (parent === null ? null : BigInt(parent.step)));

function answerOf({ epoch, parentEpoch, parentStep, isChosen, groupOf }: Epoch, newest: Newest): ClaimAnswer {
  return {
    epoch,
    ...(groupOf !== null && { groupOf }),
    ...(isChosen && { isChosen: true }),
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
