import { keepRecord } from "#protocol/retention/keeping.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { keepRecordKey } from "#protocol/checkpoint/keys.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import type { KeepRecord as KeepRow } from "#prisma/client/client.ts";
import type { Transaction } from "#prisma/open.ts";
import type { Hub } from "../api/hub.ts";

/**
 * Writes retention records of a checkpoint into every bucket that has a copy, so that a hub rebuilt from any of them keeps
 * its pins. If a bucket was unreachable, or the copy came later, the records are noted as owed and written later.
 */

/** Notes that these buckets lack retention records of a checkpoint. */
export async function oweWords(
  tx: Pick<Transaction, "owedWords">,
  { checkpointId, profileIds, since }: { checkpointId: string; profileIds: readonly string[]; since: Date },
): Promise<void> {
  for (const profileId of profileIds) {
    const where = { checkpointId_profileId: { checkpointId, profileId } };
    await tx.owedWords.upsert({ where, update: {}, create: { checkpointId, profileId, since } });
  }
}

/** Returns the object that a row was read from; null for one that could not be read. */
function recordOf(row: KeepRow) {
  const { id, run, checkpointId, kind, text, by } = row;
  const words: Record<string, object> = {
    pin: { kind },
    end: { kind },
    tag: { kind, tag: text },
    note: { kind, text },
    trash: { kind, until: row.until?.getTime() ?? 0, why: text },
  };
  const parsed = keepRecord.safeParse({
    format: "tidemark.keeping",
    version: 1,
    id,
    run,
    checkpointId,
    at: row.at.getTime(),
    by,
    word: words[kind],
    ends: JSON.parse(row.ends) as unknown,
  });
  return parsed.success ? parsed.data : null;
}

/** Writes the records of one checkpoint that one bucket lacks. @throws Fault those of the store */
export async function payWords(hub: Hub, owed: { checkpointId: string; profileId: string }): Promise<void> {
  const { checkpointId, profileId } = owed;
  const store = await hub.stores.open(profileId);
  const once = store.access.traits.conditionalWrites ? { ifNoneMatch: "*" as const } : {};
  const rows = await hub.db.keepRecord.findMany({ where: { checkpointId } });
  for (const record of rows.map((row) => recordOf(row))) {
    if (record === null) continue;
    const { run, id, word } = record;
    const key = keepRecordKey(store.prefix, { run, checkpointId, id, kind: word.kind });
    try {
      await putObjectText(store.client, { bucket: store.access.bucket, key, text: JSON.stringify(record), ...once });
    } catch (error) {
      if (!isFault(error) || error.code !== "ALREADY_EXISTS") throw error;
    }
  }
  const had = rows.map(({ id }) => id);
  await hub.db.$transaction(async (tx) => {
    const isMore = (await tx.keepRecord.count({ where: { checkpointId, id: { notIn: had } } })) > 0;
    if (!isMore) await tx.owedWords.deleteMany({ where: owed });
  });
}

const MOST_A_BEAT = 1_000;

/** Writes all owed records; a timer calls it. A bucket that fails is skipped until the next call. */
export async function payAllWords(hub: Hub, isStopped: () => boolean): Promise<void> {
  const owed = await hub.db.owedWords.findMany({ orderBy: { since: "asc" }, take: MOST_A_BEAT });
  const away = new Set<string>();
  for (const { checkpointId, profileId } of owed) {
    if (isStopped()) return;
    if (away.has(profileId)) continue;
    try {
      await payWords(hub, { checkpointId, profileId });
    } catch (error) {
      away.add(profileId);
      hub.log.warn({ error, profileId }, "a bucket did not take what is said about its checkpoints");
    }
  }
}
