import { runName, type RunName } from "#protocol/base/names.ts";
import type { HistoryFound } from "#protocol/wire/upkeep.ts";
import { listObjects } from "#storage/s3/listing.ts";
import type { Database } from "#prisma/open.ts";
import type { KeyedLock } from "#server/platform/keyed-lock.ts";
import type { OpenStore, Stores } from "../api/ports/stores.ts";
import { HISTORY_KINDS, nothingFound, readRun, refuse } from "./read-run.ts";

export interface HistoryReader {
  db: Database;
  stores: Stores;
  locks: KeyedLock;
  now: () => number;
}

/** Returns the runs that have objects in the bucket, and those that the database places there. */
async function findRuns(db: Database, store: OpenStore, found: HistoryFound): Promise<RunName[]> {
  const runs = new Set<RunName>();
  for (const { folder } of HISTORY_KINDS) {
    const prefix = `${store.prefix}${folder}/`;
    for await (const { key } of listObjects(store.client, { bucket: store.access.bucket, prefix })) {
      const name = runName.safeParse(key.slice(prefix.length).split("/")[0]);
      if (name.success) runs.add(name.data);
      else refuse(found, key, "its run has a name that is not allowed");
    }
  }
  const rows = await db.run.findMany({ where: { profileId: store.profileId }, select: { name: true } });
  for (const { name } of rows) runs.add(runName.parse(name));
  return [...runs].toSorted();
}

/**
 * Reads the history of every run in one bucket and records what the database lacks. It may be repeated, and continues where
 * it was interrupted. @throws Fault those of the store: the bucket then counts as not read
 */
export async function readBucket(reader: HistoryReader, profileId: string): Promise<HistoryFound> {
  const found = nothingFound();
  const store = await reader.stores.open(profileId);
  for (const run of await findRuns(reader.db, store, found)) {
    await reader.locks.run(`run ${run}`, () => readRun(reader, { store, run }, found));
  }
  return found;
}

/** Adds up the results of two buckets. */
export function addFound(a: HistoryFound, b: HistoryFound): HistoryFound {
  return {
    runs: a.runs + b.runs,
    epochs: a.epochs + b.epochs,
    checkpoints: a.checkpoints + b.checkpoints,
    missing: a.missing + b.missing,
    refused: a.refused + b.refused,
    refusedKeys: [...a.refusedKeys, ...b.refusedKeys].slice(0, 100),
  };
}
