import { OWN_FOLDERS, PROBES, attemptPrefix, dataKeyOrNull, type DataKey } from "#protocol/checkpoint/keys.ts";
import type { KeptReason, OrphanSum } from "#protocol/wire/upkeep.ts";
import { listObjects, listUploads } from "#storage/s3/listing.ts";
import type { Database } from "#prisma/open.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import { isOldProbe, whyKept, type RunFacts } from "#storage/manifest/classify-orphan.ts";

/**
 * Finds orphans: objects in a bucket that nothing needs. A listing that fails ends the search. Objects are counted per
 * attempt, so memory holds attempts and not keys. An attempt is deleted as a whole or not at all, by its youngest object.
 * Manifests, claims and the database protect objects; they are read after the data, so a checkpoint created meanwhile is
 * seen.
 */

export type AttemptAt = Omit<DataKey, "path">;

export interface FoundUpload {
  key: string;
  uploadId: string;
  at: AttemptAt | null;
}

export interface FoundOrphans {
  /** Attempts whose objects may be deleted. */
  attempts: { at: AttemptAt; prefix: string }[];
  uploads: FoundUpload[];
  probes: { key: string }[];
  objects: OrphanSum;
  uploadsSum: OrphanSum;
  probesSum: OrphanSum;
  kept: Record<KeptReason, OrphanSum>;
}

/** States of a checkpoint that needs its objects. */
const HOLDING = ["uploading", "complete", "trashed", "joined"];
/** States of a copy that needs its objects. */
const COPIES_HOLDING = ["copying", "complete"];

export const noOrphans = (): OrphanSum => ({ count: 0, bytes: 0, oldestAt: null });

function add(to: OrphanSum, what: OrphanSum): void {
  to.count += what.count;
  to.bytes += what.bytes;
  if (what.oldestAt !== null) to.oldestAt = Math.min(to.oldestAt ?? Infinity, what.oldestAt);
}

const nameOf = ({ run, epoch, attempt }: AttemptAt): string => `${run}/${epoch}/${attempt}`;

/** Returns a data key under this profile's prefix and under no foreign one; null for any other key. */
export function dataKeyUnder(
  store: Pick<OpenStore, "prefix">,
  foreign: readonly string[],
  key: string,
): DataKey | null {
  return foreign.some((prefix) => key.startsWith(prefix)) ? null : dataKeyOrNull(store.prefix, key);
}

/** Returns the prefixes of other profiles of the same bucket that lie inside this one. */
export async function foreignPrefixes(db: Pick<Database, "profile">, store: OpenStore): Promise<string[]> {
  const { profileId, prefix: own } = store;
  const rows = await db.profile.findMany({ where: { bucket: store.access.bucket, id: { not: profileId } } });
  return rows.map(({ prefix }) => prefix).filter((prefix) => prefix.length > own.length && prefix.startsWith(own));
}

interface Pile extends OrphanSum {
  at: AttemptAt;
  youngestAt: number;
}

async function pileUp(store: OpenStore, foreign: readonly string[], kept: FoundOrphans["kept"]) {
  const piles = new Map<string, Pile>();
  const listing = listObjects(store.client, { bucket: store.access.bucket, prefix: store.prefix + OWN_FOLDERS.data });
  for await (const { key, sizeBytes, modifiedAt } of listing) {
    const one = { count: 1, bytes: sizeBytes, oldestAt: modifiedAt };
    const at = dataKeyUnder(store, foreign, key);
    if (at === null) {
      add(kept.unknown, one);
      continue;
    }
    const pile = piles.get(nameOf(at)) ?? { at, youngestAt: 0, ...noOrphans() };
    add(pile, one);
    pile.youngestAt = Math.max(pile.youngestAt, modifiedAt);
    piles.set(nameOf(at), pile);
  }
  return piles;
}

async function listPendingUploads(store: OpenStore, folder: string) {
  const uploads: { key: string; uploadId: string; startedAt: number }[] = [];
  const at = { bucket: store.access.bucket, prefix: `${store.prefix}${folder}` };
  for await (const upload of listUploads(store.client, at)) uploads.push(upload);
  return uploads;
}

/** Returns the attempts that have a manifest in the bucket. */
async function attemptsWithManifest(store: OpenStore): Promise<Set<string>> {
  const prefix = `${store.prefix}manifests/`;
  const attempts = new Set<string>();
  for await (const { key } of listObjects(store.client, { bucket: store.access.bucket, prefix })) {
    const match = /^([^/]+)\/e(\d{6})\/s\d{12}-.+-([a-z0-9]{12,32})\.json$/.exec(key.slice(prefix.length));
    if (match !== null) attempts.add(`${match[1]}/${Number(match[2])}/${match[3]}`);
  }
  return attempts;
}

async function highestClaims(store: OpenStore): Promise<Map<string, number>> {
  const prefix = `${store.prefix}epochs/`;
  const highest = new Map<string, number>();
  for await (const { key } of listObjects(store.client, { bucket: store.access.bucket, prefix })) {
    const match = /^([^/]+)\/e(\d{6})\.json$/.exec(key.slice(prefix.length));
    if (match?.[1] !== undefined) highest.set(match[1], Math.max(highest.get(match[1]) ?? 0, Number(match[2])));
  }
  return highest;
}

async function readRunFacts(db: Database, store: OpenStore): Promise<Map<string, RunFacts>> {
  const highest = await highestClaims(store);
  const { profileId } = store;
  // Includes runs that have or had a replica in this bucket.
  const where = {
    OR: [
      { profileId },
      { homes: { some: { profileId } } },
      { checkpoints: { some: { OR: [{ profileId }, { copies: { some: { profileId } } }] } } },
    ],
  };
  const runs = await db.run.findMany({ where, include: { epochs: true } });
  const facts = new Map<string, RunFacts>();
  for (const { name, epochs, highestSeen } of runs) {
    // The run has not been read from the bucket yet, so it is unknown which epochs are over.
    if (highestSeen === null || epochs.length === 0) continue;
    facts.set(name, {
      currentEpoch: Math.max(...epochs.map(({ epoch }) => epoch)),
      highestInBucket: Math.max(highest.get(name) ?? 0, highestSeen),
      claimedAt: new Map(epochs.map(({ epoch, claimedAt }) => [epoch, claimedAt.getTime()])),
    });
  }
  return facts;
}

/** Returns whether a checkpoint or copy in the database needs the objects of this attempt now. */
export async function isHeld(
  db: Pick<Database, "checkpoint" | "checkpointCopy">,
  { run, attempt }: AttemptAt,
): Promise<boolean> {
  if ((await db.checkpoint.count({ where: { run, attempt, state: { in: HOLDING } } })) > 0) return true;
  return (await db.checkpointCopy.count({ where: { run, attempt, state: { in: COPIES_HOLDING } } })) > 0;
}

/** Searches the bucket of one profile. @throws Fault those of the store */
export async function findOrphans(hub: { db: Database; now: () => number }, store: OpenStore): Promise<FoundOrphans> {
  const { db } = hub;
  const kept = { young: noOrphans(), "open-epoch": noOrphans(), live: noOrphans(), unknown: noOrphans() };
  const found: FoundOrphans = {
    attempts: [],
    uploads: [],
    probes: [],
    objects: noOrphans(),
    uploadsSum: noOrphans(),
    probesSum: noOrphans(),
    kept,
  };
  const foreign = await foreignPrefixes(db, store);
  const piles = await pileUp(store, foreign, kept);
  const uploads = await listPendingUploads(store, OWN_FOLDERS.data);
  const named = await attemptsWithManifest(store);
  const facts = await readRunFacts(db, store);
  const rows = await db.checkpoint.findMany({
    where: { state: { in: HOLDING } },
    select: { run: true, attempt: true, writerEpoch: true },
  });
  for (const { run, attempt, writerEpoch } of rows) named.add(`${run}/${writerEpoch}/${attempt}`);
  const copies = await db.checkpointCopy.findMany({
    where: { state: { in: COPIES_HOLDING } },
    select: { run: true, attempt: true, checkpoint: { select: { writerEpoch: true } } },
  });
  for (const { run, attempt, checkpoint } of copies) named.add(`${run}/${checkpoint.writerEpoch}/${attempt}`);
  const now = hub.now();
  for (const [name, { at, youngestAt, ...sum }] of piles) {
    const isNamed = named.has(name);
    const why = whyKept(facts.get(at.run) ?? null, { epoch: at.epoch, modifiedAt: youngestAt, isNamed }, now);
    if (why === null) {
      found.attempts.push({ at, prefix: attemptPrefix(store.prefix, at) });
      add(found.objects, sum);
    } else if (!isNamed) add(kept[why], sum);
  }
  for (const { key, uploadId, startedAt } of uploads) {
    const at = dataKeyUnder(store, foreign, key);
    if (at === null) continue;
    // Parts of an upload that was never completed belong to no checkpoint, whatever its state.
    const leftover = { epoch: at.epoch, modifiedAt: startedAt, isNamed: false };
    if (whyKept(facts.get(at.run) ?? null, leftover, now) !== null) continue;
    found.uploads.push({ key, uploadId, at });
    add(found.uploadsSum, { count: 1, bytes: 0, oldestAt: startedAt });
  }
  await findProbes(store, found, now);
  return found;
}

/** Adds what nodes left that were killed during a link probe. Nothing in that folder is ever kept. */
async function findProbes(store: OpenStore, found: FoundOrphans, now: number): Promise<void> {
  const folder = PROBES;
  const prefix = store.prefix + folder;
  const isProbe = (key: string) => /^[A-Za-z0-9-]{8,64}(\/[A-Za-z0-9-]{8,64})?$/.test(key.slice(prefix.length));
  for await (const { key, sizeBytes, modifiedAt } of listObjects(store.client, {
    bucket: store.access.bucket,
    prefix,
  })) {
    if (!isProbe(key) || !isOldProbe(modifiedAt, now)) continue;
    found.probes.push({ key });
    add(found.probesSum, { count: 1, bytes: sizeBytes, oldestAt: modifiedAt });
  }
  for (const { key, uploadId, startedAt } of await listPendingUploads(store, folder)) {
    if (!isProbe(key) || !isOldProbe(startedAt, now)) continue;
    found.uploads.push({ key, uploadId, at: null });
    add(found.uploadsSum, { count: 1, bytes: 0, oldestAt: startedAt });
  }
}
