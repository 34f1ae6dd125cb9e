import * as z from "zod";
import {
  MOST_PLANNED,
  type BucketPlan,
  type PlanBucketJob,
  type ProtectedGroup,
} from "#protocol/buckets/bucket-jobs.ts";
import { takesAway } from "#protocol/buckets/bucket-verbs.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { provider } from "#protocol/base/provider.ts";
import { priceOverride } from "#protocol/wire/profiles.ts";
import { describeObject, listPage } from "#storage/s3/browse.ts";
import { copyRequests } from "#storage/s3/copy-within.ts";
import { createRepeatFinder } from "#storage/answers/repeated-names.ts";
import { DELETE_BATCH, keepsVersions } from "#storage/s3/delete-many.ts";
import { findVersions } from "#storage/s3/versions.ts";
import { PRESETS } from "#storage/providers/providers.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";
import type { JobProgress } from "#server/core/live/job-board.ts";
import { loadGuard, type Guard } from "./protect.ts";

/**
 * Finds the objects that a job would touch and stores them in chunks, so that a plan of 250,000 objects needs the memory of
 * 1,000. Objects that belong to Tidemark are counted by what they belong to, and only copies include them.
 */

/** Version of a key that a `revive` job makes current again. */
const plannedVersion = z.object({
  id: z.string(),
  /** Whether it is a delete marker, which is deleted; any other version is copied. */
  isMark: z.boolean(),
  /** Newest version of the key when the plan was made, to notice later changes; null: the key had none. */
  newestId: z.string().nullable(),
});
export const plannedObject = z.object({
  key: z.string(),
  sizeBytes: z.number(),
  etag: z.string(),
  version: plannedVersion.optional(),
});
export type PlannedObject = z.infer<typeof plannedObject>;

const MOST_GROUPS = 50;
const SAMPLE = 20;
const ROWS = 1000;

interface Gathering {
  hub: Hub;
  store: OpenStore;
  asked: PlanBucketJob;
  jobId: string;
  progress: JobProgress;
  guard: Guard;
}

/** Yields every requested object once. Calls `onRequest` after each request to the store. */
async function* objectsOf({ store, asked, progress }: Gathering, onRequest: () => void): AsyncGenerator<PlannedObject> {
  const { bucket } = store.access;
  const { signal } = progress.stop;
  const prefixes = asked.items.flatMap((item) => ("prefix" in item ? [item.prefix] : []));
  // An item below another requested prefix would come twice.
  const outer = prefixes.filter((one) => !prefixes.some((other) => other !== one && one.startsWith(other)));
  const keys = asked.items.flatMap((item) => ("key" in item ? [item.key] : []));
  const repeats = createRepeatFinder();
  for (const prefix of new Set(outer)) {
    let from: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof listPage>> = await listPage(store.client, {
        bucket,
        prefix,
        delimiter: "",
        startAfter: null,
        from,
        limit: ROWS,
        signal,
      });
      onRequest();
      for (const { key, sizeBytes, etag } of page.objects) if (!repeats.isRepeated(key)) yield { key, sizeBytes, etag };
      from = page.next;
    } while (from !== null);
  }
  for (const key of new Set(keys)) {
    if (outer.some((prefix) => key.startsWith(prefix))) continue;
    const { sizeBytes, etag } = await describeObject(store.client, { bucket, key, withChecksums: "left out", signal });
    onRequest();
    yield { key, sizeBytes, etag };
  }
}

/** Yields the requested versions with the newest version of their keys. Counts versions that need no change by `same`. */
async function* versionsOf(
  { store, asked, progress }: Gathering,
  on: { request: () => void; same: () => void; covers: () => void },
): AsyncGenerator<PlannedObject> {
  const { bucket } = store.access;
  const { signal } = progress.stop;
  for (const item of asked.items) {
    if (!("versionId" in item)) continue;
    const { key, versionId } = item;
    const { newest, wanted } = await findVersions(store.client, { bucket, key, versionId, signal });
    on.request();
    if (wanted === null)
      throw new Fault("NO_SUCH_KEY", { op: "plan", subject: key, detail: "this version of it is gone" });
    // The current version needs no change, and a delete marker below something newer hides nothing.
    if (wanted.isDeleteMarker !== wanted.isLatest) {
      on.same();
      continue;
    }
    if (newest !== null && !newest.isDeleteMarker) on.covers();
    const version = { id: versionId, isMark: wanted.isDeleteMarker, newestId: newest?.versionId ?? null };
    yield { key, sizeBytes: wanted.sizeBytes, etag: wanted.etag ?? "", version };
  }
}

/** Returns the key of an object's copy; null for a job without a target. */
export const targetOf = (asked: Pick<PlanBucketJob, "from" | "target">, key: string): string | null =>
  asked.target === null ? null : asked.target + key.slice(asked.from.length);

/**
 * Makes the plan of a job and stores its chunks.
 * @throws Fault TOO_LARGE past MOST_PLANNED, NO_SUCH_KEY for a single object that is gone, CANCELLED, those of the store
 */
export async function gatherPlan(about: Omit<Gathering, "guard">): Promise<BucketPlan> {
  const { hub, store, asked, jobId, progress } = about;
  await hub.db.bucketJobChunk.deleteMany({ where: { jobId } });
  const guard = await loadGuard(hub, store);
  const groups = new Map<string, ProtectedGroup>();
  const revived = { copies: 0, undeleted: 0, covered: 0 };
  const plan: BucketPlan = {
    objects: 0,
    bytes: 0,
    kept: { objects: 0, bytes: 0, groups: [], groupsOmitted: 0 },
    samePlace: 0,
    sample: [],
    requests: 0,
    cost: null,
    ...(asked.action === "revive" && { revived }),
    keepsVersions: !takesAway(asked.action) ? false : await keepsVersions(store.client, store.access.bucket),
  };
  let reads = 0;
  let chunk: PlannedObject[] = [];
  let seq = 0;
  const write = async (): Promise<void> => {
    if (chunk.length === 0) return;
    await hub.db.bucketJobChunk.create({ data: { jobId, seq: seq++, objects: JSON.stringify(chunk) } });
    chunk = [];
  };
  const request = () => void plan.requests++;
  const wanted =
    asked.action === "revive"
      ? versionsOf({ ...about, guard }, { request, same: () => plan.samePlace++, covers: () => revived.covered++ })
      : objectsOf({ ...about, guard }, request);
  for await (const object of wanted) {
    const { key, sizeBytes, etag } = object;
    if (asked.action !== "copy" && guard.of(key) !== null) {
      await keep({ plan, groups }, object, guard);
      continue;
    }
    const target = targetOf(asked, key);
    if (target === key) {
      plan.samePlace++;
      continue;
    }
    if (target !== null && guard.of(target) !== null) {
      throw new Fault("BELONGS_TO_TIDEMARK", {
        op: "plan",
        subject: target,
        detail: "nothing is written there by hand",
      });
    }
    if (target !== null && Buffer.byteLength(target) > 1024) {
      throw new Fault("BAD_INPUT", {
        op: "plan",
        subject: key,
        detail: "its copy would have a key of over 1,024 bytes",
      });
    }
    if (plan.objects >= MOST_PLANNED) {
      throw new Fault("TOO_LARGE", { op: "plan", detail: `more than ${MOST_PLANNED} objects; choose fewer folders` });
    }
    plan.objects++;
    plan.bytes += sizeBytes;
    if (plan.sample.length < SAMPLE) plan.sample.push(key);
    if (object.version !== undefined) {
      // The newest version of the key is read again before the change.
      plan.requests++;
      if (object.version.isMark) revived.undeleted++;
      else revived.copies++;
    }
    if (object.version?.isMark === true) plan.requests++;
    else if (asked.action !== "delete") {
      plan.requests += copyRequests(sizeBytes, etag);
      // Two requests of each copy are HEADs, which are priced as reads.
      reads += 2;
    }
    chunk.push(object);
    progress.foundObjects = plan.objects;
    if (chunk.length >= DELETE_BATCH) await write();
  }
  await write();
  if (takesAway(asked.action)) plan.requests += 2 * Math.ceil(plan.objects / DELETE_BATCH);
  plan.kept.groups = [...groups.values()];
  plan.cost = await costOf(hub, store.profileId, { writes: plan.requests - reads, reads });
  return plan;
}

async function keep(
  to: { plan: BucketPlan; groups: Map<string, ProtectedGroup> },
  { key, sizeBytes }: PlannedObject,
  guard: Guard,
): Promise<void> {
  const { kept } = to.plan;
  kept.objects++;
  kept.bytes += sizeBytes;
  const protection = await guard.explain(key);
  if (protection === null) return;
  const name = JSON.stringify([protection.checkpointId, protection.checkpointId === null ? protection.why : ""]);
  const group = to.groups.get(name);
  if (group !== undefined) {
    group.objects++;
    group.bytes += sizeBytes;
  } else if (to.groups.size < MOST_GROUPS) {
    const why = protection.checkpointId === null ? protection.why : "checkpoint";
    to.groups.set(name, { ...protection, why, objects: 1, bytes: sizeBytes, firstKey: key });
  } else kept.groupsOmitted++;
}

/** Returns the price of these requests; null where no price is published. */
async function costOf(
  hub: Hub,
  profileId: string,
  { writes, reads }: { writes: number; reads: number },
): Promise<BucketPlan["cost"]> {
  const row = await hub.db.profile.findUnique({ where: { id: profileId }, select: { provider: true, prices: true } });
  const listed = PRESETS[provider.catch("other").parse(row?.provider)].prices;
  const own = row?.prices == null ? null : priceOverride.parse(JSON.parse(row.prices)).per1000Requests;
  if (own !== null) return { amount: ((writes + reads) / 1000) * own, currency: listed?.currency ?? "USD" };
  if (listed === null) return null;
  const amount = (writes / 1000) * listed.writesPer1000 + (reads / 1000) * listed.readsPer1000;
  return { amount, currency: listed.currency };
}
