import type * as z from "zod";
import { epochClaim, type EpochClaim } from "#protocol/checkpoint.ts";
import { Fault, isFault } from "#protocol/fault.ts";
import type { ClaimAnswer, claimEpochInput } from "#protocol/hello.ts";
import { epochClaimKey } from "#protocol/keys.ts";
import { nodeName, runName, type RunName } from "#protocol/names.ts";
import { listObjects } from "#storage/listing.ts";
import { getObjectText, headObject, putObjectText } from "#storage/objects.ts";
import type { Epoch } from "#prisma/client/client.ts";
import { emit, recordEvent } from "../events/record-event.ts";
import type { Hub } from "../hub.ts";
import { recordTakeover } from "../losses/record-loss.ts";
import type { LiveNode } from "../live/live-node.ts";
import { hearCaller } from "../nodes/hear-caller.ts";
import type { OpenStore } from "../profiles/open-store.ts";
import type { Context, NodeCaller } from "../trpc.ts";
import { openDoubt } from "../upkeep/may-delete.ts";
import { homesOf } from "../homes/homes-of.ts";
import { nothingFound, readRun } from "../upkeep/read-run.ts";
import { showHistory } from "../upkeep/show-history.ts";
import { currentEpoch, newestComplete } from "./newest.ts";

/**
 * Who may write a run. The node of the latest epoch goes on with it; any other node opens the next one, which starts from
 * the newest complete checkpoint and shuts its predecessor out. The claim lies in the bucket, under a key that can be
 * written once, before the hub's own record says so: a hub that lost its database cannot hand the same number out twice.
 * A claim the hub does not know of is either what it wrote in the moment it was killed, for this very node, and then it
 * counts; or it comes from a history this database has lost, and then numbers go on well above it.
 */

const MOST_TRIES = 20;
const ABOVE_LOST_HISTORY = 1_000;
const MOST_CLAIM_BYTES = 64 * 1024;

type Parent = { epoch: number; step: number } | null;

/**
 * Returns the highest epoch that the bucket is known to name after a part of the record was lost; 0 otherwise. While that is
 * not known the bucket is asked.
 * @throws Fault CONFLICT when the run lives in another bucket; those of the store
 */
async function openRun(hub: Hub, run: RunName, node: LiveNode): Promise<number> {
  const known = await hub.db.run.findUnique({ where: { name: run }, include: { profile: true, homes: true } });
  if (known === null) {
    const doubt = await openDoubt(hub);
    const highestSeen = doubt !== null && doubt.listedAt === null ? null : 0;
    const createdAt = new Date(hub.now());
    await hub.db.run.create({ data: { name: run, profileId: node.profileId, createdAt, highestSeen } });
    emit(hub, null, ["runs", "profiles"]);
    if (highestSeen === 0) return 0;
  } else if (known.profileId !== node.profileId && !known.homes.some(({ profileId }) => profileId === node.profileId)) {
    const detail = `the run lives in ${known.profile.name}; enrol this node there, or give the run another name`;
    throw new Fault("CONFLICT", { op: "claimEpoch", subject: run, detail });
  } else if (known.highestSeen !== null) return known.highestSeen;
  for (const profileId of (await homesOf(hub.db, run))?.profileIds ?? [node.profileId]) {
    await readRun(hub, { store: await hub.stores.open(profileId), run }, nothingFound());
  }
  await showHistory(hub);
  const read = await hub.db.run.findUniqueOrThrow({ where: { name: run } });
  return read.highestSeen ?? 0;
}

/** Writes the claim unless somebody already has. Returns whether it is ours. */
async function writeClaim(store: OpenStore, claim: EpochClaim): Promise<boolean> {
  const { client, access, prefix } = store;
  const at = { bucket: access.bucket, key: epochClaimKey(prefix, claim) };
  try {
    if (!access.traits.conditionalWrites) {
      const exists = await headObject(client, at).then(
        () => true,
        (error: unknown) => {
          if (isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND")) return false;
          throw error;
        },
      );
      if (exists) return false;
    }
    const once = access.traits.conditionalWrites ? { ifNoneMatch: "*" as const } : {};
    await putObjectText(client, { ...at, text: JSON.stringify(claim), ...once });
    return true;
  } catch (error) {
    if (isFault(error) && error.code === "ALREADY_EXISTS") return false;
    throw error;
  }
}

/** The highest epoch number the bucket knows of this run; 0 when it knows none. */
async function highestClaim(store: OpenStore, run: RunName): Promise<number> {
  const prefix = `${store.prefix}epochs/${run}/`;
  let highest = 0;
  for await (const { key } of listObjects(store.client, { bucket: store.access.bucket, prefix })) {
    const match = /^e(\d{6})\.json$/.exec(key.slice(prefix.length));
    if (match !== null) highest = Math.max(highest, Number(match[1]));
  }
  return highest;
}

/** Whether the claim at this number was written for the same node and the same beginning. */
async function isOwnClaim(store: OpenStore, claim: EpochClaim): Promise<boolean> {
  const { client, access, prefix } = store;
  const at = { bucket: access.bucket, key: epochClaimKey(prefix, claim), maxBytes: MOST_CLAIM_BYTES };
  const { text } = await getObjectText(client, at);
  const { claimedAt: _, ...wanted } = claim;
  try {
    const { claimedAt: __, ...found } = epochClaim.parse(JSON.parse(text));
    return JSON.stringify(found) === JSON.stringify(wanted);
  } catch {
    return false;
  }
}

interface Claim {
  hub: Hub;
  run: RunName;
  node: LiveNode;
  last: Epoch | null;
  /** See `openRun`. */
  highestSeen: number;
  parent: Parent;
  /** When the parent was captured, epoch ms. */
  goesOnAt: number | null;
}

/** What became of a claim in one home. */
type Written = { store: OpenStore; isOurs: boolean };

/**
 * Writes the claim into every home that can be reached: one is enough, because it only stands in for a database that was lost,
 * and after that numbers go on a thousand above the highest that any home names.
 * @throws Fault those of the store, when no home took it
 */
async function writeToHomes(stores: readonly OpenStore[], claim: EpochClaim): Promise<Written[]> {
  const tried = await Promise.allSettled(
    stores.map(async (store) => ({ store, isOurs: await writeClaim(store, claim) })),
  );
  const written = tried.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const [first] = tried;
  if (written.length === 0 && first?.status === "rejected") throw first.reason;
  return written;
}

async function claimInBucket({ hub, run, node, last, highestSeen, parent }: Claim): Promise<number> {
  const homes = (await homesOf(hub.db, run))?.profileIds ?? [node.profileId];
  const stores: OpenStore[] = [];
  for (const profileId of homes) stores.push(await hub.stores.open(profileId));
  let epoch = Math.max((last?.epoch ?? 0) + 1, highestSeen === 0 ? 1 : highestSeen + ABOVE_LOST_HISTORY);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const claim: EpochClaim = {
      format: "tidemark.epoch",
      version: 1,
      run,
      epoch,
      parent,
      node: { id: node.id, name: nodeName.parse(node.name) },
      claimedAt: hub.now(),
    };
    const written = await writeToHomes(stores, claim);
    const taken = written.filter(({ isOurs }) => !isOurs);
    if (taken.length === 0) return epoch;
    let highest = epoch;
    for (const { store } of taken) highest = Math.max(highest, await highestClaim(store, run));
    for (const { store } of taken) {
      const isThere = (await highestClaim(store, run)) === highest;
      if (isThere && (await isOwnClaim(store, { ...claim, epoch: highest }))) return highest;
    }
    epoch = highest + ABOVE_LOST_HISTORY;
  }
  throw new Fault("CONFLICT", { op: "claimEpoch", subject: run });
}

async function recordClaim({ hub, run, node, last, parent, goesOnAt }: Claim, epoch: number): Promise<Epoch> {
  const now = hub.now();
  const { row, event, lost } = await hub.db.$transaction(async (tx) => {
    const { revokedAt } = await tx.node.findUniqueOrThrow({ where: { id: node.id } });
    if (revokedAt !== null) throw new Fault("NODE_REVOKED");
    const row = await tx.epoch.create({
      data: {
        run,
        epoch,
        parentEpoch: parent?.epoch ?? null,
        parentStep: parent === null ? null : BigInt(parent.step),
        nodeId: node.id,
        claimedAt: new Date(now),
      },
    });
    const goesOn = parent === null || goesOnAt === null ? null : { step: parent.step, at: goesOnAt };
    const lost =
      last === null
        ? null
        : await recordTakeover(tx, { hub, run, epoch, lastNodeId: last.nodeId, node, parent: goesOn });
    // Its predecessors can no longer be committed.
    await tx.checkpoint.updateMany({ where: { run, state: "uploading" }, data: { state: "torn" } });
    const from = parent === null ? "from the start" : `from step ${parent.step}`;
    const text = last === null ? `began ${run}` : `took over ${run} ${from} (epoch ${epoch})`;
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

/** @throws Fault NODE_REVOKED, CONFLICT, and the faults of the store */
export async function claimEpoch(
  { hub, caller }: Context & { caller: NodeCaller },
  input: z.infer<typeof claimEpochInput>,
): Promise<ClaimAnswer> {
  const node = await hearCaller({ hub, caller });
  const { run } = input;
  return hub.locks.run(`run ${run}`, async () => {
    const highestSeen = await openRun(hub, run, node);
    const last = await currentEpoch(hub.db, run);
    const newest = await newestComplete(hub.db, run);
    let row = last;
    if (last === null || last.nodeId !== node.id || last.epoch < highestSeen) {
      const parent = newest === null ? null : { epoch: newest.writerEpoch, step: Number(newest.step) };
      const goesOnAt = newest?.capturedAt.getTime() ?? null;
      const claim = { hub, run, node, last, highestSeen, parent, goesOnAt };
      row = await recordClaim(claim, await claimInBucket(claim));
    }
    return answerOf(row, newest);
  });
}

function answerOf(row: Epoch | null, newest: Awaited<ReturnType<typeof newestComplete>>): ClaimAnswer {
  if (row === null) throw new Fault("INTERNAL", { op: "claimEpoch" });
  const { epoch, parentEpoch, parentStep } = row;
  return {
    epoch,
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
          },
  };
}
