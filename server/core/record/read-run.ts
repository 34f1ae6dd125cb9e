import { isFault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { HistoryFound } from "#protocol/wire/upkeep.ts";
import { listObjects, type ListedObject } from "#storage/s3/listing.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import type { Database } from "#prisma/open.ts";
import { abandonAgain } from "../runs/abandon-newer.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import type { HistoryKind, HistoryScope } from "./history-kind.ts";
import { profilesOfHomes } from "../profiles/homes-of.ts";
import { becomesHome } from "./find-home.ts";
import { EPOCH_CLAIMS } from "./take-claim.ts";
import { FINDING_OBJECTS } from "./take-finding.ts";
import { KEEP_RECORDS } from "./take-keeping.ts";
import { MANIFESTS } from "./take-manifest.ts";

/**
 * Reads the history of a run from a bucket and records what the database lacks. The database is a cache of immutable objects
 * in the bucket, so it can be rebuilt. A failed listing ends the reading of the run, which then counts as not read: a partial
 * history is never taken for the whole. An object that contradicts its key is refused, named and counted, and the others go
 * on. One object is in memory at a time.
 */

/** The kinds of objects, in the order they are read. A new kind is a new entry. */
export const HISTORY_KINDS: readonly HistoryKind[] = [EPOCH_CLAIMS, MANIFESTS, KEEP_RECORDS, FINDING_OBJECTS];

const REFUSED_NAMED = 100;

export const nothingFound = (): HistoryFound => ({
  runs: 0,
  epochs: 0,
  checkpoints: 0,
  missing: 0,
  refused: 0,
  refusedKeys: [],
});

export function refuse(found: HistoryFound, key: string, why: string): void {
  found.refused++;
  if (found.refusedKeys.length < REFUSED_NAMED) found.refusedKeys.push({ key, why });
}

/** Faults of the object itself. Any other fault (of the link, rights or disk) ends the reading. */
const OWN_FAULTS: ReadonlySet<string> = new Set([
  "BAD_INPUT",
  "NOT_THIS_NODES",
  "CONFLICT",
  "TOO_LARGE",
  "NO_SUCH_KEY",
  "SIZE_MISMATCH",
  "OBJECT_CHANGED",
]);

interface Reading extends HistoryScope {
  found: HistoryFound;
}

async function takeObject(kind: HistoryKind, reading: Reading, listed: ListedObject): Promise<boolean> {
  const { store, found } = reading;
  const { key, modifiedAt } = listed;
  try {
    if (await kind.isKnown(reading, key)) return false;
    const at = { bucket: store.access.bucket, key, maxBytes: kind.mostBytes };
    const { text } = await getObjectText(store.client, at);
    return await kind.take(reading, { key, text, modifiedAt });
  } catch (error) {
    if (!isFault(error) || !OWN_FAULTS.has(error.code)) throw error;
    refuse(found, key, error.context.detail ?? error.code);
    await kind.onRefused?.(reading, key);
    return false;
  }
}

interface KindListing {
  listed: ListedObject[];
  /** Highest epoch in the keys; 0 when there is none. */
  highest: number;
}

async function listKind(kind: HistoryKind, { store, run, found }: Reading): Promise<KindListing> {
  const prefix = `${store.prefix}${kind.folder}/${run}/`;
  const listed: ListedObject[] = [];
  let highest = 0;
  for await (const object of listObjects(store.client, { bucket: store.access.bucket, prefix })) {
    const epoch = kind.epochOf(object.key.slice(prefix.length));
    if (epoch === null) refuse(found, object.key, `it is no key of ${kind.folder}`);
    else {
      highest = Math.max(highest, epoch);
      listed.push(object);
    }
  }
  return { listed, highest };
}

/** Reads the listed objects of one kind. Returns how many were new. */
async function readKind(kind: HistoryKind, reading: Reading, listed: readonly ListedObject[]): Promise<number> {
  let taken = 0;
  // The newer of two objects about the same thing counts, so it is read first.
  for (const object of listed.toSorted((a, b) => b.modifiedAt - a.modifiedAt)) {
    if (await takeObject(kind, reading, object)) taken++;
  }
  reading.found.missing += await kind.countMissing(reading, new Set(listed.map(({ key }) => key)));
  return taken;
}

/**
 * Reads one run. Afterwards its row holds the highest epoch seen, which is returned; null when the bucket is none of its homes
 * and no other was read. `isAwaited`: a node waits for it, so the listings run at the same time. The node of that epoch may go on, lower epochs are over, and new ones start well above. @throws Fault
 * those of the store
 */
export async function readRun(
  hub: { db: Database; now: () => number },
  at: { store: OpenStore; run: RunName; isAwaited?: boolean },
  found: HistoryFound,
): Promise<number | null> {
  const { db } = hub;
  const { run, store, isAwaited = false } = at;
  const known = await db.run.findUnique({ where: { name: run }, include: { homes: true } });
  if (
    known !== null &&
    !profilesOfHomes(known).includes(store.profileId) &&
    !(await becomesHome(db, { store, run }, hub.now()))
  ) {
    refuse(found, `${store.prefix}epochs/${run}/`, "a run of this name lives in another bucket profile");
    return known.highestSeen;
  }
  const createdAt = new Date(hub.now());
  if (known === null) {
    await db.run.create({ data: { name: run, profileId: store.profileId, createdAt, highestSeen: null } });
  }
  const reading: Reading = { db, store, run, now: hub.now(), found };
  const ahead = isAwaited ? await Promise.all(HISTORY_KINDS.map((kind) => listKind(kind, reading))) : [];
  const counts: number[] = [];
  let highest = 0;
  for (const [index, kind] of HISTORY_KINDS.entries()) {
    const listing = ahead[index] ?? (await listKind(kind, reading));
    counts.push(await readKind(kind, reading, listing.listed));
    highest = Math.max(highest, listing.highest);
  }
  const last = await db.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });
  const first = known === null ? await db.epoch.findFirst({ where: { run }, orderBy: { epoch: "asc" } }) : null;
  const beganAt = known?.createdAt ?? first?.claimedAt ?? createdAt;
  const highestSeen = Math.max(highest, last?.epoch ?? 0, known?.highestSeen ?? 0);
  if (last !== null) await db.$transaction((tx) => abandonAgain(tx, run));
  await db.$transaction([
    // Uploads of lower epochs ended before the database knew it.
    db.checkpoint.updateMany({
      where: { run, state: "uploading", writerEpoch: { lt: highestSeen } },
      data: { state: "torn" },
    }),
    db.run.update({ where: { name: run }, data: { highestSeen, createdAt: beganAt } }),
  ]);
  found.runs++;
  found.epochs += counts[0] ?? 0;
  found.checkpoints += counts[1] ?? 0;
  return highestSeen;
}
