import { keepRecord, USUAL_TRASH_MS, type KeepRecord } from "#protocol/retention/keeping.ts";
import { keepRecordKey } from "#protocol/checkpoint/keys.ts";
import type { RunName } from "#protocol/base/names.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { keepFolder } from "#protocol/checkpoint/keys.ts";
import type { Database } from "#prisma/open.ts";
import type { OpenStore } from "../api/ports/stores.ts";
import { hashOf } from "#server/platform/random-id.ts";
import { takeRecord } from "./take-record.ts";

/**
 * Reads what the bucket says about keeping and this hub does not know: after a rebuild, after a write whose answer was lost,
 * and always before a checkpoint is moved to the trash or deleted. What cannot be read, or is of a later version, is
 * written down as such and counts as a pin until a person takes that away.
 */

export const MOST_RECORD_BYTES = 64 * 1024;

/** The checkpoint that a key speaks of, relative to the run's folder; null when it lies in no checkpoint's folder. */
export function checkpointOf(name: string): string | null {
  const match = /^([A-Za-z0-9-]{8,64})\/.+$/s.exec(name);
  return match?.[1] ?? null;
}

/** Whether the key is of a tag, as its name says: a tag on one checkpoint may take back another's. */
export const isTagKey = (key: string): boolean => key.endsWith("-tag.json");

/** @throws Fault BAD_INPUT */
export function parseRecord(at: { prefix: string; run: RunName }, object: { key: string; text: string }): KeepRecord {
  const refuse = (detail: string) => new Fault("BAD_INPUT", { op: "keeping", subject: object.key, detail });
  let value: unknown;
  try {
    value = JSON.parse(object.text);
  } catch {
    throw refuse("it is not JSON");
  }
  const parsed = keepRecord.safeParse(value);
  if (!parsed.success) throw refuse(parsed.error.issues[0]?.message ?? "it says nothing about keeping");
  const { run, checkpointId, id, word } = parsed.data;
  if (run !== at.run || keepRecordKey(at.prefix, { run, checkpointId, id, kind: word.kind }) !== object.key) {
    throw refuse("it speaks of something else than its key");
  }
  return parsed.data;
}

interface Reading {
  db: Database;
  run: RunName;
  prefix: string;
  /** Epoch ms. */
  now: number;
}

/** Takes in one object that was read. @throws Fault BAD_INPUT */
export async function takeObject(reading: Reading, object: { key: string; text: string }): Promise<boolean> {
  const record = parseRecord(reading, object);
  const notBefore = reading.now + USUAL_TRASH_MS;
  return reading.db.$transaction(async (tx) => {
    await tx.keepRecord.deleteMany({ where: { key: object.key, kind: "unread" } });
    return takeRecord(tx, record, { key: object.key, notBefore });
  });
}

/** Writes down that there is an object that nobody could read. */
export async function takeUnread({ db, run, now }: Reading, at: { key: string; checkpointId: string }): Promise<void> {
  const { key, checkpointId } = at;
  const id = hashOf(key).slice(0, 32);
  // A person may have taken it away, which is read before or after it.
  const ender = await db.keepRecord.findFirst({ where: { run, ends: { contains: JSON.stringify(id) } } });
  const about = { run, checkpointId, kind: "unread", text: "", at: new Date(now), by: "", key, ends: "[]" };
  const create = { id, ...about, endedById: ender?.id ?? null };
  await db.keepRecord.upsert({ where: { id }, update: {}, create });
}

/** Whether the database has what this object says. One that could not be read is tried again. */
export const isKnownRecord = async (db: Pick<Database, "keepRecord">, key: string): Promise<boolean> =>
  (await db.keepRecord.count({ where: { key, kind: { not: "unread" } } })) > 0;

/** Faults of the object itself, not of the way to it: reading it again would not help. */
const OWN_FAULTS: ReadonlySet<string> = new Set(["BAD_INPUT", "TOO_LARGE"]);

/** Reads the words about one checkpoint that the database lacks. @throws Fault those of the store */
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
