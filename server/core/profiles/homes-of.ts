import { Fault } from "#protocol/faults/fault.ts";
import type { Checkpoint, CheckpointCopy } from "#prisma/client/client.ts";
import type { Database } from "#prisma/open.ts";

/**
 * The homes of a run, and where a checkpoint of it lies. The row of a checkpoint names the copy that is read where nobody says
 * otherwise; the others have rows of their own.
 */

type Db = Pick<Database, "run" | "runHome">;

export interface HomesOf {
  /** In their order; the first is the run's profile. */
  profileIds: string[];
  /** In how many a checkpoint is to lie. */
  copies: number;
  /** As it was set; null: in all. */
  copiesSet: number | null;
}

/** Null for a run that nobody has begun. */
export async function homesOf(db: Db, run: string): Promise<HomesOf | null> {
  const row = await db.run.findUnique({ where: { name: run }, include: { homes: { orderBy: { position: "asc" } } } });
  if (row === null) return null;
  const profileIds = row.homes.length === 0 ? [row.profileId] : row.homes.map(({ profileId }) => profileId);
  const copiesSet = row.copies;
  return { profileIds, copies: Math.min(copiesSet ?? profileIds.length, profileIds.length), copiesSet };
}

/** Nodes of the profile may take part in the run. */
export const isHomeOf = async (db: Db, run: string, profileId: string): Promise<boolean> =>
  (await homesOf(db, run))?.profileIds.includes(profileId) ?? false;

/** Profiles whose nodes may restore or check a checkpoint: the homes of its run, and wherever it lies. */
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

/** Where one copy of a checkpoint lies. */
export interface Lying {
  profileId: string;
  bucket: string;
  prefix: string;
  attempt: string;
  manifestSha256: string | null;
  damagedAt: Date | null;
}

type CopyRow = Omit<CheckpointCopy, "manifest">;
/** Everything of a copy but the text of its manifest. */
export const WITHOUT_MANIFEST = { manifest: true } as const;

/** The copies of a checkpoint that are complete, the first one at the front. */
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

/** @throws Fault CONFLICT */
export async function requireHome(db: Db, about: { run: string; profileId: string; op: string }): Promise<void> {
  const { run, profileId, op } = about;
  if (await isHomeOf(db, run, profileId)) return;
  throw new Fault("CONFLICT", { op, subject: run, detail: "that bucket profile is not one of the run's homes" });
}
