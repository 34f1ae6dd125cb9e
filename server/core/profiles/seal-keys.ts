import { Fault } from "#protocol/faults/fault.ts";
import type { NodeSealing, SealedView, Sealing, SealingView } from "#protocol/checkpoint/sealing.ts";
import { sealing } from "#protocol/checkpoint/sealing.ts";
import { fingerprintOf } from "#storage/encryption/checkpoint-key.ts";
import type { Profile } from "#prisma/client/client.ts";
import { homesOf } from "./homes-of.ts";
import type { Hub } from "../api/hub.ts";

/** Tells people and nodes the encryption settings of a profile, without the keys. */

export const sealingOf = (row: Pick<Profile, "sealing">): Sealing => sealing.catch("off").parse(row.sealing);

/** Returns the strictest setting. The order is off, content, names: each includes what the settings before it encrypt. */
const strictest = (all: readonly Sealing[]): Sealing =>
  all.includes("names") ? "names" : all.includes("content") ? "content" : "off";

/** Returns the profiles that hold a run, the given one first: its key is preferred. */
async function rowsOf(db: Hub["db"], about: { run: string; profileId: string }): Promise<Profile[]> {
  const ids = (await homesOf(db, about.run))?.profileIds ?? [];
  const rows = await db.profile.findMany({ where: { id: { in: [...ids, about.profileId] } } });
  const placeOf = ({ id }: Profile) => (id === about.profileId ? -1 : ids.indexOf(id));
  return rows.toSorted((a, b) => placeOf(a) - placeOf(b));
}

/**
 * Returns how checkpoints of a run are encrypted, whichever home saves them first; "off": not at all. The strictest setting
 * of all homes counts. Otherwise the outage of a bucket would decide whether plain bytes are stored.
 */
export async function sealingOfRun(
  { db }: Pick<Hub, "db">,
  about: { run: string; profileId: string },
): Promise<Sealing> {
  return strictest((await rowsOf(db, about)).map(sealingOf));
}

/**
 * Does the same as `nodeSealingOf` for one run. The key is that of the home where it is saved, or of the first home that has
 * one.
 */
export async function nodeSealingInRun(
  hub: Pick<Hub, "db">,
  about: { run: string; profileId: string },
): Promise<NodeSealing | null> {
  const rows = await rowsOf(hub.db, about);
  const row = rows.find((one) => sealingOf(one) !== "off");
  const told = row === undefined ? null : await nodeSealingOf(hub, row);
  return told === null ? null : { ...told, hideNames: strictest(rows.map(sealingOf)) === "names" };
}

/**
 * Returns the encryption settings for the nodes of a profile; null: off. @throws Fault SEAL_KEY_MISSING when encryption is on
 * without a key: an upload must never fall back to plain bytes
 */
export async function nodeSealingOf(
  { db }: Pick<Hub, "db">,
  row: Pick<Profile, "sealing" | "sealKeyId" | "name">,
): Promise<NodeSealing | null> {
  const how = sealingOf(row);
  if (how === "off") return null;
  const key = row.sealKeyId === null ? null : await db.sealKey.findUnique({ where: { id: row.sealKeyId } });
  if (key === null) throw new Fault("SEAL_KEY_MISSING", { subject: row.name });
  return { keyId: key.id, publicKey: key.publicKey, hideNames: how === "names" };
}

/** Returns the encryption settings, keys and counts of a profile for its page. @throws Fault NOT_FOUND */
export async function readSealing({ db }: Pick<Hub, "db">, { id }: { id: string }): Promise<SealingView> {
  const row = await db.profile.findUnique({ where: { id }, include: { sealKeys: { orderBy: { createdAt: "desc" } } } });
  if (row === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  const where = { profileId: id, state: "complete" };
  const counted = await db.checkpoint.groupBy({ by: ["sealKeyId"], where, _count: { id: true } });
  const counts = new Map(counted.map(({ sealKeyId, _count }) => [sealKeyId, _count.id]));
  // A checkpoint copied here may be encrypted with the key of another home.
  const here = new Set((await db.sealKey.findMany({ select: { id: true } })).map((key) => key.id));
  const missing = [...counts].filter(([keyId]) => keyId !== null && !here.has(keyId));
  return {
    sealing: sealingOf(row),
    plainCheckpoints: counts.get(null) ?? 0,
    lockedCheckpoints: missing.reduce((sum, [, count]) => sum + count, 0),
    keys: row.sealKeys.map((key) => ({
      id: key.id,
      fingerprint: fingerprintOf(key.publicKey),
      createdAt: key.createdAt.getTime(),
      exportedAt: key.exportedAt?.getTime() ?? null,
      exportedBy: key.exportedBy,
      isImported: key.isImported,
      checkpoints: counts.get(key.id) ?? 0,
      isCurrent: key.id === row.sealKeyId,
    })),
  };
}

/** Returns the encryption of a checkpoint for its page; null: it is not encrypted. */
export async function sealedViewOf({ db }: Pick<Hub, "db">, keyId: string | null): Promise<SealedView | null> {
  if (keyId === null) return null;
  const key = await db.sealKey.findUnique({ where: { id: keyId } });
  return { isKeyHere: key !== null, fingerprint: key === null ? null : fingerprintOf(key.publicKey) };
}
