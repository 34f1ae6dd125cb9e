import { USUAL_TRASH_MS } from "#protocol/retention/keeping.ts";
import { parseRecord } from "#protocol/retention/parse-record.ts";
import type { RunName } from "#protocol/base/names.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { keepFolder } from "#protocol/checkpoint/keys.ts";
import type { Database } from "#prisma/open.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import { hashOf } from "#server/platform/random-id.ts";
import { takeRecord } from "./take-record.ts";

/**
 * Reads retention records that the bucket has and this hub lacks. It runs after a rebuild, after a lost answer to a write,
 * and before any move to the trash or deletion. A record that is unreadable or of a later version counts as a pin until a
 * person ends it.
 */

export const MOST_RECORD_BYTES = 64 * 1024;

/** Returns the checkpoint id in a key relative to the run's folder; null when the key lies in no checkpoint's folder. */
export function checkpointOf(name: string): string | null {
  const match = /^([A-Za-z0-9-]{8,64})\/.+$/s.exec(name);
  return match?.[1] ?? null;
}

/**
 * Returns whether the key is that of a tag. A new tag moves the name from another checkpoint of the run, known here or
 * not.
 */
export const isTagKey = (key: string): boolean => key.endsWith("-tag.json");

interface Reading {
  db: Database;
  run: RunName;
  prefix: string;
  /** Epoch ms. */
  now: number;
}

/** Stores the record of one object and returns whether it was new. @throws Fault BAD_INPUT */
export async function takeObject(reading: Reading, object: { key: string; text: string }): Promise<boolean> {
  const record = parseRecord(reading, object);
  const notBefore = reading.now + USUAL_TRASH_MS;
  return reading.db.$transaction(async (tx) => {
    await tx.keepRecord.deleteMany({ where: { key: object.key, kind: "unread" } });
    return takeRecord(tx, record, { key: object.key, notBefore });
  });
}

/** Stores that an object exists which could not be read. */
export async function takeUnread({ db, run, now }: Reading, at: { key: string; checkpointId: string }): Promise<void> {
  const { key, checkpointId } = at;
  const id = hashOf(key).slice(0, 32);
  // A person may have ended it, and the hub may read the ending record before or after this one.
  const ender = await db.keepRecord.findFirst({ where: { run, ends: { contains: JSON.stringify(id) } } });
  const about = { run, checkpointId, kind: "unread", text: "", at: new Date(now), by: "", key, ends: "[]" };
  const create = { id, ...about, endedById: ender?.id ?? null };
  await db.keepRecord.upsert({ where: { id }, update: {}, create });
}

/**
 * Returns whether the database has the record of this object. One that could not be read counts as unknown and is tried
 * again.
 */
export const isKnownRecord = async (db: Pick<Database, "keepRecord">, key: string): Promise<boolean> =>
  (await db.keepRecord.count({ where: { key, kind: { not: "unread" } } })) > 0;

/** Faults of the object, not of the connection: a retry would not help. */
const OWN_FAULTS: ReadonlySet<string> = new Set(["BAD_INPUT", "TOO_LARGE"]);

/** Reads the retention records of one checkpoint that the database lacks. @throws Fault those of the store */
export async function readRecords(
  hub: { db: Database; now: () => number },
  store: OpenStore,
  at: { run: RunName; checkpointId: string; bucket: string; prefix: string },
): Promise<void> {
  const { run, checkpointId, bucket, prefix } = at;
  const reading: Reading = { db: hub.db, run, prefix, now: hub.now() };
  const folder = keepFolder(prefix, { run, checkpointId });
  for await (const { key } of listObjects(store.client, { bucket, prefix: folder })) {
    if (await isKnownRecord(hub.db, key)) continue;
    try {
      const { text } = await getObjectText(store.client, { bucket, key, maxBytes: MOST_RECORD_BYTES });
      await takeObject(reading, { key, text });
    } catch (error) {
      if (!isFault(error) || !OWN_FAULTS.has(error.code)) throw error;
      await takeUnread(reading, { key, checkpointId });
    }
  }
}
