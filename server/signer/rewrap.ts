import type { Database } from "#prisma/open.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { CANARY_PLACE } from "./answer.ts";
import type { Signer } from "./messages.ts";
import { benchKeyPlace, channelPlace, groupKeyPlace, sealKeyPlace, secretPlace } from "./secret-place.ts";

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
  before: string;
  after: string;
}

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
  const changeOf = async (place: string, before: string): Promise<Change> => {
    const { sealed: after } = await signer.rewrap({ place, sealed: before });
    return { before, after };
  };
  const secrets = new Map<string, Change>();
  for (const { profileId, sealed } of await db.profileSecret.findMany()) {
    secrets.set(profileId, await changeOf(secretPlace(profileId), sealed));
  }
  const channels = new Map<string, Change>();
  for (const { channelId, sealed } of await db.alertChannelSecret.findMany()) {
    channels.set(channelId, await changeOf(channelPlace(channelId), sealed));
  }
  const benchKeys = new Map<string, Change>();
  for (const { profileId, sealed } of await db.profileBenchKey.findMany()) {
    benchKeys.set(profileId, await changeOf(benchKeyPlace(profileId), sealed));
  }
  const sealKeys = new Map<string, Change>();
  for (const { keyId, sealed } of await db.sealKeySecret.findMany()) {
    sealKeys.set(keyId, await changeOf(sealKeyPlace(keyId), sealed));
  }
  const groupKeys = new Map<string, Change>();
  for (const { accountId, sealed } of await db.groupAccountSecret.findMany()) {
    groupKeys.set(accountId, await changeOf(groupKeyPlace(accountId), sealed));
  }
  const newCanary = await changeOf(CANARY_PLACE, canary.sealed);
  const changed = new Fault("CONFLICT", { op: "change the master key" });
  await db.$transaction(async (tx) => {
    for (const [profileId, { before, after }] of secrets) {
      const where = { profileId, sealed: before };
      const { count } = await tx.profileSecret.updateMany({ where, data: { sealed: after, keyVersion } });
      if (count !== 1) throw changed;
    }
    for (const [channelId, { before, after }] of channels) {
      const where = { channelId, sealed: before };
      const { count } = await tx.alertChannelSecret.updateMany({ where, data: { sealed: after, keyVersion } });
      if (count !== 1) throw changed;
    }
    for (const [profileId, { before, after }] of benchKeys) {
      const where = { profileId, sealed: before };
      const { count } = await tx.profileBenchKey.updateMany({ where, data: { sealed: after, keyVersion } });
      if (count !== 1) throw changed;
    }
    for (const [keyId, { before, after }] of sealKeys) {
      const where = { keyId, sealed: before };
      const { count } = await tx.sealKeySecret.updateMany({ where, data: { sealed: after, keyVersion } });
      if (count !== 1) throw changed;
    }
    for (const [accountId, { before, after }] of groupKeys) {
      const where = { accountId, sealed: before };
      const { count } = await tx.groupAccountSecret.updateMany({ where, data: { sealed: after, keyVersion } });
      if (count !== 1) throw changed;
    }
    const isOld = { where: { keyVersion: { not: keyVersion } } };
    const left = [
      tx.profileSecret.count(isOld),
      tx.alertChannelSecret.count(isOld),
      tx.profileBenchKey.count(isOld),
      tx.sealKeySecret.count(isOld),
      tx.groupAccountSecret.count(isOld),
    ];
    if ((await Promise.all(left)).some((count) => count > 0)) throw changed;
    await tx.canary.update({ where: { id: 1 }, data: { sealed: newCanary.after, keyVersion } });
    const subject = `version ${keyVersion}`;
    await tx.audit.create({ data: { at: new Date(now), actor: "console", action: "change master key", subject } });
  });
  // Truncates the write-ahead log, which still has texts that the old key opens.
  await db.$queryRaw`PRAGMA wal_checkpoint(TRUNCATE)`;
  const all = [secrets, channels, benchKeys, sealKeys, groupKeys];
  return { keyVersion, rewrapped: all.reduce((sum, { size }) => sum + size, 1) };
}
