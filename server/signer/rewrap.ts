import type { Database } from "#prisma/open.ts";
import { wordsOf } from "#prisma/sql-words.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { CANARY_PLACE } from "./answer.ts";
import type { Signer } from "./messages.ts";
import {
  benchKeyPlace,
  channelPlace,
  groupKeyPlace,
  jobSecretPlace,
  scheduleSecretPlace,
  sealKeyPlace,
  secretPlace,
} from "./secret-place.ts";

/**
 * Replaces the master key. The signer gets the new key, and the old one as the previous key. Then everything that is sealed is
 * sealed again in one transaction, including the canary. After a kill the database is entirely under the old key or entirely
 * under the new one, and the same two keys complete the change. A test checks that this file covers every sealed column of the
 * schema.
 */

export interface Rewrapped {
  /** Version of the present master key. */
  keyVersion: number;
  /** Number of texts that were under the previous key, including the canary; 0 when there was nothing to do. */
  rewrapped: number;
}

interface Change {
  id: string;
  before: string;
  after: string;
}

type Tables = Parameters<Parameters<Database["$transaction"]>[0]>[0];

/** A table with sealed texts. */
interface SealedTable {
  place(id: string): string;
  read(db: Database): Promise<{ id: string; sealed: string }[]>;
  /** Writes a text that is still the one that was read, and returns the number of rows. */
  write(tx: Tables, change: Change, keyVersion: number): Promise<{ count: number }>;
  /** Counts the texts under other versions of the master key. */
  countOld(tx: Tables, keyVersion: number): Promise<number>;
}

const otherThan = (keyVersion: number) => ({ where: { keyVersion: { not: keyVersion } } });
const dataOf = ({ after: sealed }: Change, keyVersion: number) => ({ sealed, keyVersion });

const TABLES: readonly SealedTable[] = [
  {
    place: secretPlace,
    read: async (db) => (await db.profileSecret.findMany()).map(({ profileId: id, sealed }) => ({ id, sealed })),
    write: (tx, change, version) =>
      tx.profileSecret.updateMany({
        where: { profileId: change.id, sealed: change.before },
        data: dataOf(change, version),
      }),
    countOld: (tx, version) => tx.profileSecret.count(otherThan(version)),
  },
  {
    place: channelPlace,
    read: async (db) => (await db.alertChannelSecret.findMany()).map(({ channelId: id, sealed }) => ({ id, sealed })),
    write: (tx, change, version) =>
      tx.alertChannelSecret.updateMany({
        where: { channelId: change.id, sealed: change.before },
        data: dataOf(change, version),
      }),
    countOld: (tx, version) => tx.alertChannelSecret.count(otherThan(version)),
  },
  {
    place: benchKeyPlace,
    read: async (db) => (await db.profileBenchKey.findMany()).map(({ profileId: id, sealed }) => ({ id, sealed })),
    write: (tx, change, version) =>
      tx.profileBenchKey.updateMany({
        where: { profileId: change.id, sealed: change.before },
        data: dataOf(change, version),
      }),
    countOld: (tx, version) => tx.profileBenchKey.count(otherThan(version)),
  },
  {
    place: sealKeyPlace,
    read: async (db) => (await db.sealKeySecret.findMany()).map(({ keyId: id, sealed }) => ({ id, sealed })),
    write: (tx, change, version) =>
      tx.sealKeySecret.updateMany({
        where: { keyId: change.id, sealed: change.before },
        data: dataOf(change, version),
      }),
    countOld: (tx, version) => tx.sealKeySecret.count(otherThan(version)),
  },
  {
    place: jobSecretPlace,
    read: async (db) => (await db.jobSecret.findMany()).map(({ jobId: id, sealed }) => ({ id, sealed })),
    write: (tx, change, version) =>
      tx.jobSecret.updateMany({ where: { jobId: change.id, sealed: change.before }, data: dataOf(change, version) }),
    countOld: (tx, version) => tx.jobSecret.count(otherThan(version)),
  },
  {
    place: scheduleSecretPlace,
    read: async (db) => (await db.jobScheduleSecret.findMany()).map(({ scheduleId: id, sealed }) => ({ id, sealed })),
    write: (tx, change, version) =>
      tx.jobScheduleSecret.updateMany({
        where: { scheduleId: change.id, sealed: change.before },
        data: dataOf(change, version),
      }),
    countOld: (tx, version) => tx.jobScheduleSecret.count(otherThan(version)),
  },
  {
    place: groupKeyPlace,
    read: async (db) => (await db.groupAccountSecret.findMany()).map(({ accountId: id, sealed }) => ({ id, sealed })),
    write: (tx, change, version) =>
      tx.groupAccountSecret.updateMany({
        where: { accountId: change.id, sealed: change.before },
        data: dataOf(change, version),
      }),
    countOld: (tx, version) => tx.groupAccountSecret.count(otherThan(version)),
  },
];

/**
 * Opens the database's canary and, when that is still under the previous master key, seals everything under the current
 * one. Another hub must not be using the database: hold the lock of its data folder.
 * @throws Fault MASTER_KEY_MISSING (also where nothing is sealed yet), MASTER_KEY_WRONG, MASTER_KEY_WEAK, CONFLICT (a
 * secret was changed meanwhile; nothing was written)
 */
export async function rewrapSecrets(
  db: Database,
  signer: Pick<Signer, "open" | "rewrap">,
  now: number,
): Promise<Rewrapped> {
  const canary = await db.canary.findUnique({ where: { id: 1 } });
  if (canary === null) throw new Fault("MASTER_KEY_MISSING", { detail: "nothing is sealed in this database yet" });
  const { keyVersion, isRewrapDue } = await signer.open({ canary: canary.sealed });
  if (!isRewrapDue) return { keyVersion, rewrapped: 0 };
  const changeOf = async (place: string, { id, sealed: before }: { id: string; sealed: string }): Promise<Change> => {
    const { sealed: after } = await signer.rewrap({ place, sealed: before });
    return { id, before, after };
  };
  const changes: { table: SealedTable; change: Change }[] = [];
  for (const table of TABLES) {
    for (const row of await table.read(db)) {
      changes.push({ table, change: await changeOf(table.place(row.id), row) });
    }
  }
  const newCanary = await changeOf(CANARY_PLACE, { id: "canary", sealed: canary.sealed });
  const changed = new Fault("CONFLICT", { op: "change the master key" });
  await db.$transaction(async (tx) => {
    for (const { table, change } of changes) {
      const { count } = await table.write(tx, change, keyVersion);
      if (count !== 1) throw changed;
    }
    for (const table of TABLES) {
      if ((await table.countOld(tx, keyVersion)) > 0) throw changed;
    }
    await tx.canary.update({ where: { id: 1 }, data: { sealed: newCanary.after, keyVersion } });
    const subject = `version ${keyVersion}`;
    await tx.audit.create({ data: { at: new Date(now), actor: "console", action: "change master key", subject } });
  });
  // The texts from before can still be opened with the old key.
  await wordsOf(db).dropFormerContent(db);
  return { keyVersion, rewrapped: changes.length + 1 };
}
