import type * as z from "zod";
import {
  MOST_USAGE_RUNS,
  type bucketUsageInput,
  type BucketUsage,
  type RunUsage,
} from "#protocol/buckets/bucket-usage.ts";
import { Prisma } from "#prisma/client/client.ts";
import { wordsOf } from "#prisma/sql-words.ts";
import type { KeepsVersions } from "#protocol/base/kept-versions.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { keepsVersions } from "#storage/s3/delete-many.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { estimateMonth } from "./estimate-month.ts";
import type { TransferSums } from "#server/core/api/ports/history-questions.ts";

const DAY_MS = 86_400_000;
const DAYS = 30;
/** States whose objects are still in the bucket: the trash takes up space too. */
const LYING = ["complete", "trashed"];

const startOfDay = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

/** Returns what each run has in this bucket, by its manifests. */
async function runsOf(hub: Hub, profileId: string) {
  const groups = await hub.db.checkpoint.groupBy({
    by: ["run", "state"],
    where: { profileId, state: { in: LYING } },
    _count: { id: true },
    _sum: { objectBytes: true, objectCount: true },
    _max: { committedAt: true },
  });
  const runs = new Map<string, RunUsage>();
  let trashedBytes = 0;
  for (const { run, state, _count, _sum, _max } of groups) {
    const bytes = Number(_sum.objectBytes ?? 0n);
    const usage = runs.get(run) ?? { run, checkpoints: 0, trashed: 0, objects: 0, bytes: 0, newestAt: null };
    runs.set(run, {
      run,
      checkpoints: usage.checkpoints + _count.id,
      trashed: usage.trashed + (state === "trashed" ? _count.id : 0),
      objects: usage.objects + (_sum.objectCount ?? 0),
      bytes: usage.bytes + bytes,
      newestAt: Math.max(usage.newestAt ?? 0, _max.committedAt?.getTime() ?? 0) || null,
    });
    if (state === "trashed") trashedBytes += bytes;
  }
  const largest = [...runs.values()].sort((a, b) => b.bytes - a.bytes || (a.run < b.run ? -1 : 1));
  return { largest, trashedBytes };
}

interface DayRow {
  /** Days since 1970. */
  day: bigint | number;
  count: bigint | number;
  bytes: bigint | number | null;
}

/** Returns the growth by day. The database adds it up: a fleet completes tens of thousands of checkpoints in a month. */
async function daysOf(
  hub: Hub,
  { profileId, since, came }: { profileId: string; since: number; came: TransferSums["days"] },
): Promise<BucketUsage["days"]> {
  const kept = await hub.db.$queryRaw<DayRow[]>`
    SELECT ${Prisma.raw(wordsOf(hub.db).day('"committedAt"'))} AS "day", COUNT(*) AS "count", SUM("objectBytes") AS "bytes" FROM "Checkpoint"
    WHERE "profileId" = ${profileId} AND "state" IN ('complete', 'trashed') AND "committedAt" >= ${new Date(since)}
    GROUP BY 1`;
  const keptOn = new Map(kept.map((row) => [Number(row.day), row]));
  const cameOn = new Map(came.map((row) => [row.day, row]));
  return Array.from({ length: DAYS }, (_, index) => {
    const from = since + index * DAY_MS;
    const day = from / DAY_MS;
    return {
      from,
      cameBytes: cameOn.get(day)?.bytes ?? 0,
      keptBytes: Number(keptOn.get(day)?.bytes ?? 0),
      checkpoints: Number(keptOn.get(day)?.count ?? 0),
    };
  });
}

/** Returns the bytes that nodes moved, and how many requests were signed or made with the key of the profile. */
async function movedOf(
  hub: Hub,
  { profileId, since, moved }: { profileId: string; since: number; moved: TransferSums["moved"] },
) {
  const at = new Date(since);
  const used = await hub.db.audit.groupBy({
    by: ["action"],
    where: { subjectId: profileId, action: { in: ["sign writes", "sign reads"] }, at: { gte: at } },
    _sum: { times: true },
  });
  const bytes = (isUp: boolean): number =>
    moved.filter(({ direction }) => (direction === "upload") === isUp).reduce((sum, one) => sum + one.bytes, 0);
  const times = (wanted: string): number => used.find(({ action }) => action === wanted)?._sum.times ?? 0;
  return { upBytes: bytes(true), downBytes: bytes(false), writes: times("sign writes"), reads: times("sign reads") };
}

/**
 * Returns whether the bucket of a profile keeps deleted objects as old versions, which no manifest counts and the store
 * charges for. Takes one request. @throws Fault NOT_FOUND
 */
export async function readKeepsVersions(
  hub: Pick<Hub, "stores">,
  { profileId }: z.infer<typeof bucketUsageInput>,
): Promise<{ keepsVersions: KeepsVersions }> {
  const { client, access } = await hub.stores.open(profileId);
  return { keepsVersions: await keepsVersions(client, access.bucket) };
}

/**
 * Returns what lies in the bucket of a profile by run, its growth in the last 30 days, and the cost of a month at that rate.
 * @throws Fault NOT_FOUND
 */
export async function readUsage(hub: Hub, { profileId }: z.infer<typeof bucketUsageInput>): Promise<BucketUsage> {
  const profile = await hub.db.profile.findUnique({ where: { id: profileId } });
  if (profile === null) throw new Fault("NOT_FOUND", { subject: "this bucket profile" });
  const now = hub.now();
  const since = startOfDay(now) - (DAYS - 1) * DAY_MS;
  const sums = await hub.history.reader.ask({ op: "sum-transfers", profileId, since });
  const { largest, trashedBytes } = await runsOf(hub, profileId);
  const days = await daysOf(hub, { profileId, since, came: sums.days });
  const moved = await movedOf(hub, { profileId, since, moved: sums.moved });
  const sum = (runs: readonly RunUsage[], pick: (run: RunUsage) => number): number =>
    runs.reduce((total, run) => total + pick(run), 0);
  const rest = largest.slice(MOST_USAGE_RUNS);
  const bytes = sum(largest, (run) => run.bytes);
  // A bucket that is three days old has the traffic of three days, which is scaled up to a month.
  const lookedAt = Math.min(DAYS, Math.max(1, Math.ceil((now - profile.createdAt.getTime()) / DAY_MS)));
  const monthly = (amount: number): number => (amount / lookedAt) * DAYS;
  return {
    at: now,
    stored: {
      bytes,
      objects: sum(largest, (run) => run.objects),
      checkpoints: sum(largest, (run) => run.checkpoints),
      trashedBytes,
    },
    runs: largest.slice(0, MOST_USAGE_RUNS),
    others: {
      runs: rest.length,
      bytes: sum(rest, (run) => run.bytes),
      objects: sum(rest, (run) => run.objects),
    },
    days,
    moved: { days: lookedAt, ...moved },
    cost: estimateMonth(profile, {
      storedBytes: bytes,
      downBytes: monthly(moved.downBytes),
      writes: monthly(moved.writes),
      reads: monthly(moved.reads),
    }),
  };
}
