import type { HomeView, RunHomesView } from "#protocol/wire/homes.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { WRITTEN_BY_NODES } from "#server/core/runs/is-adopted.ts";
import { newestComplete } from "#server/core/runs/newest.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { sealingOf } from "#server/core/profiles/seal-keys.ts";
import { homesOf } from "#server/core/profiles/homes-of.ts";
import { awayFor } from "#server/core/runs/note-away.ts";

interface Sum {
  complete: number;
  bytes: number;
  newestStep: number | null;
}

/** Returns what each bucket has of a run, by profile. The newest is of the latest line of training, whatever earlier ones reached. */
async function sumsOf(hub: Pick<Hub, "db">, run: string): Promise<Map<string, Sum>> {
  const rows = await hub.db.$queryRaw<{ profileId: string; complete: bigint; bytes: bigint; newest: bigint | null }[]>`
    SELECT "profileId", COUNT(*) AS "complete", COALESCE(SUM("sizeBytes"), 0) AS "bytes",
      MAX(CASE WHEN "writerEpoch" = "latest" THEN "step" END) AS "newest"
    FROM (
      SELECT "profileId", "sizeBytes", "writerEpoch", "step",
        MAX("writerEpoch") OVER (PARTITION BY "profileId") AS "latest"
      FROM (
        SELECT "profileId", "sizeBytes", "writerEpoch", "step" FROM "Checkpoint"
        WHERE "run" = ${run} AND "state" = 'complete'
        UNION ALL
        SELECT cc."profileId", c."sizeBytes", c."writerEpoch", c."step" FROM "CheckpointCopy" cc
        JOIN "Checkpoint" c ON c."id" = cc."checkpointId"
        WHERE cc."run" = ${run} AND cc."state" = 'complete' AND c."state" = 'complete'
      ) AS "stored"
    ) AS "lined" GROUP BY "profileId"`;
  return new Map(
    rows.map(({ profileId, complete, bytes, newest }) => [
      profileId,
      {
        complete: Number(complete),
        bytes: Number(bytes),
        newestStep: newest === null ? null : Number(newest),
      },
    ]),
  );
}

/** Counts complete checkpoints with fewer copies than configured. */
async function countBehind(hub: Pick<Hub, "db">, run: string, copies: number): Promise<RunHomesView["behind"]> {
  if (copies <= 1) return { checkpoints: 0, newest: false };
  const rows = await hub.db.checkpoint.findMany({
    where: { run, state: "complete", ...WRITTEN_BY_NODES },
    select: { id: true, _count: { select: { copies: { where: { state: "complete" } } } } },
  });
  const behind = new Set(rows.flatMap(({ id, _count }) => (_count.copies + 1 < copies ? [id] : [])));
  const newest = await newestComplete(hub.db, run);
  return { checkpoints: behind.size, newest: newest !== null && behind.has(newest.id) };
}

/** Returns the replicas of a run, the content of each, and the buckets that could be added. @throws Fault NOT_FOUND */
export async function readHomes(hub: Hub, run: string): Promise<RunHomesView> {
  const of = await homesOf(hub.db, run);
  if (of === null) throw new Fault("NOT_FOUND", { subject: "this run" });
  const profiles = await hub.db.profile.findMany({ orderBy: { name: "asc" } });
  const sums = await sumsOf(hub, run);
  const homes = of.profileIds.flatMap((profileId): HomeView[] => {
    const profile = profiles.find(({ id }) => id === profileId);
    if (profile === undefined) return [];
    const { name, bucket, prefix, provider } = profile;
    const sum = sums.get(profileId) ?? { complete: 0, bytes: 0, newestStep: null };
    return [
      { profileId, name, bucket, prefix, provider, ...sum, sealing: sealingOf(profile), away: awayFor(hub, profileId) },
    ];
  });
  return {
    run,
    homes,
    copies: of.copiesSet,
    behind: await countBehind(hub, run, of.copies),
    others: profiles
      .filter(({ id }) => !of.profileIds.includes(id))
      .map(({ id: profileId, name, bucket }) => ({ profileId, name, bucket })),
  };
}
