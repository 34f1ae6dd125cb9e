import { Fault } from "#protocol/faults/fault.ts";
import type { Checkpoint, CheckpointCopy } from "#prisma/client/client.ts";
import type { Database } from "#prisma/open.ts";

/**
 * Tells in which buckets (homes) a run is kept, and where copies of a checkpoint lie. The checkpoint's own row names its
 * first copy, which is read by default; every other copy has a row in `checkpointCopy`.
 */

type Db = Pick<Database, "run" | "runHome">;

export interface HomesOf {
  /** In their configured order; the first is the run's profile. */
  profileIds: string[];
  /** The number of homes that each checkpoint is to be copied to. */
  copies: number;
  /** The number as a person set it; null: all homes. */
  copiesSet: number | null;
}

/** Returns the profiles of a run's homes, in the order of `homes`. */
export const profilesOfHomes = (row: { profileId: string; homes: readonly { profileId: string }[] }): string[] =>
  row.homes.length === 0 ? [row.profileId] : row.homes.map(({ profileId }) => profileId);

/** Returns the homes of a run; null for an unknown run. */
export async function homesOf(db: Db, run: string): Promise<HomesOf | null> {
  const row = await db.run.findUnique({ where: { name: run }, include: { homes: { orderBy: { position: "asc" } } } });
  if (row === null) return null;
  const profileIds = profilesOfHomes(row);
  const copiesSet = row.copies;
  return { profileIds, copies: Math.min(copiesSet ?? profileIds.length, profileIds.length), copiesSet };
}

/** Returns whether the profile is a home of the run, so that its nodes may take part in it. */
export const isHomeOf = async (db: Db, run: string, profileId: string): Promise<boolean> =>
  (await homesOf(db, run))?.profileIds.includes(profileId) ?? false;

/** Returns the profiles whose nodes may restore or check a checkpoint: the homes of its run, and every profile with a copy. */
export async function profilesFor(
  db: Db & Pick<Database, "checkpointCopy">,
  checkpoint: { id: string; run: string; profileId: string },
): Promise<ReadonlySet<string>> {
  const copies = await db.checkpointCopy.findMany({
    where: { checkpointId: checkpoint.id, state: "complete" },
    select: { profileId: true },
  });
  const homes = (await homesOf(db, checkpoint.run))?.profileIds ?? [];
  return new Set([checkpoint.profileId, ...homes, ...copies.map(({ profileId }) => profileId)]);
}

/** The location of one copy of a checkpoint. */
export interface Lying {
  profileId: string;
  bucket: string;
  prefix: string;
  attempt: string;
  manifestSha256: string | null;
  damagedAt: Date | null;
}

type CopyRow = Omit<CheckpointCopy, "manifest">;
/** Prisma's `omit` for copies: manifests are large. */
export const WITHOUT_MANIFEST = { manifest: true } as const;

/** Returns the complete copies of a checkpoint; the checkpoint's own row comes first. */
export async function completeCopies(
  db: Pick<Database, "checkpointCopy">,
  checkpoint: Checkpoint,
): Promise<[Checkpoint, ...CopyRow[]]> {
  const copies = await db.checkpointCopy.findMany({
    where: { checkpointId: checkpoint.id, state: "complete" },
    omit: WITHOUT_MANIFEST,
    orderBy: { committedAt: "asc" },
  });
  return [checkpoint, ...copies];
}

/** Checks that the profile is a home of the run. @throws Fault CONFLICT */
export async function requireHome(db: Db, about: { run: string; profileId: string; op: string }): Promise<void> {
  const { run, profileId, op } = about;
  if (await isHomeOf(db, run, profileId)) return;
  throw new Fault("CONFLICT", { op, subject: run, detail: "that bucket profile is not one of the run's homes" });
}
