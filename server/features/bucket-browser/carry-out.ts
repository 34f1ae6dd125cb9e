import { Fault, isFault, type FaultData } from "#protocol/faults/fault.ts";
import { describeObject, listPage } from "#storage/s3/browse.ts";
import { copyWithin, findCopy } from "#storage/s3/copy-within.ts";
import { deleteMany } from "#storage/s3/delete-many.ts";
import { requireMayDelete } from "#server/core/retention/may-delete.ts";
import { targetOf, type PlannedObject } from "./gather-plan.ts";
import { inLanes, withPatience, type Chunk, type Ends } from "./in-lanes.ts";
import { loadGuard } from "./protect.ts";
import { reviveAll } from "./revive.ts";

/**
 * Carries out one chunk of a confirmed plan. Idempotent: after a kill the hub repeats the chunk and recognizes what is already
 * done. Checks every object again before it is moved or deleted. An object that changed since the plan, or belongs to Tidemark
 * now, stays. Nothing is removed while the hub's record is in doubt.
 */

export interface ChunkDone {
  doneObjects: number;
  doneBytes: number;
  failures: { key: string; fault: FaultData }[];
}

const PAGES_TO_LOOK_AGAIN = 5;

/** Does the work and counts it. @throws Fault one that concerns more than single objects; the next call recognizes what is done */
export async function carryOut(chunk: Chunk): Promise<ChunkDone> {
  const done: ChunkDone = { doneObjects: 0, doneBytes: 0, failures: [] };
  const fail = (key: string, fault: Fault): void => {
    done.failures.push({ key, fault: fault.toData() });
  };
  const succeed = ({ sizeBytes }: PlannedObject): void => {
    done.doneObjects++;
    done.doneBytes += sizeBytes;
    chunk.progress.doneObjects = done.doneObjects;
    chunk.progress.doneBytes = done.doneBytes;
    chunk.onMoved();
  };
  if (chunk.asked.action === "copy") {
    await copyAll(chunk, { succeed, fail });
    return done;
  }
  if (chunk.asked.action === "revive") {
    await reviveAll(chunk, { succeed, fail });
    return done;
  }
  const present = await lookAgain(chunk, { succeed, fail });
  if (chunk.asked.action === "delete") {
    await removeAll(chunk, present, { succeed, fail });
    return done;
  }
  const copied: PlannedObject[] = [];
  await copyAll({ ...chunk, objects: present }, { succeed: (object) => copied.push(object), fail });
  await removeAll(chunk, copied, { succeed, fail });
  return done;
}

function copyAll(chunk: Chunk, ends: Ends): Promise<void> {
  const { store, asked, jobId, objects, progress } = chunk;
  const { signal } = progress.stop;
  const { bucket, traits } = store.access;
  return inLanes(objects, ends, async ({ key, sizeBytes, etag }) => {
    const target = targetOf(asked, key);
    if (target === null) throw new Fault("BAD_INPUT", { op: "copy", subject: key });
    await withPatience(signal, () =>
      copyWithin(store.client, { bucket, source: key, target, sizeBytes, etag, nonce: jobId, traits, signal }),
    );
  });
}

type ListedPage = Awaited<ReturnType<typeof listPage>>;

/** Returns the current ETags of these keys from a listing; keys that the listing did not reach are missing. */
async function listedEtags(chunk: Chunk, keys: ReadonlySet<string>): Promise<Map<string, string>> {
  const { store, asked, progress } = chunk;
  const { bucket } = store.access;
  const { signal } = progress.stop;
  const found = new Map<string, string>();
  const [first = ""] = keys;
  // Drops the last character of the first key, so that the listing starts at that key or a little before it.
  const startAfter = first.length > asked.from.length + 1 ? first.slice(0, -1) : null;
  const place = { bucket, prefix: asked.from, delimiter: "" as const, startAfter, limit: 1000, signal };
  let from: string | null = null;
  for (let page = 0; page < PAGES_TO_LOOK_AGAIN; page++) {
    const at: Parameters<typeof listPage>[1] = { ...place, from };
    const listed: ListedPage = await withPatience(signal, () => listPage(store.client, at));
    for (const { key, etag } of listed.objects) if (keys.has(key)) found.set(key, etag);
    from = listed.next;
    if (from === null || found.size === keys.size) break;
  }
  return found;
}

/**
 * Returns the objects that are as planned. A missing object counts as done; for a move only if the target is its copy, because
 * anybody may have deleted the source.
 */
async function lookAgain(chunk: Chunk, { succeed, fail }: Ends): Promise<PlannedObject[]> {
  const { hub, store, jobId, asked, objects, progress } = chunk;
  const { bucket } = store.access;
  const { signal } = progress.stop;
  await requireMayDelete(hub);
  const guard = await loadGuard(hub, store);
  const listed = await listedEtags(chunk, new Set(objects.map(({ key }) => key)));
  const headed = async (key: string): Promise<string | null> => {
    const at = { bucket, key, withChecksums: "left out" as const, signal };
    try {
      return (await withPatience(signal, () => describeObject(store.client, at))).etag;
    } catch (error) {
      if (isFault(error) && error.code === "NO_SUCH_KEY") return null;
      throw error;
    }
  };
  const hasCopy = async ({ key, sizeBytes, etag }: PlannedObject): Promise<boolean> => {
    const target = targetOf(asked, key);
    if (target === null) return false;
    const copy = { bucket, target, sizeBytes, etag, nonce: jobId, signal };
    return (await withPatience(signal, () => findCopy(store.client, copy))) === "copy";
  };
  const present: PlannedObject[] = [];
  for (const object of objects) {
    const { key, etag } = object;
    if (guard.of(key) !== null) {
      fail(key, new Fault("BELONGS_TO_TIDEMARK", { op: asked.action, subject: key }));
      continue;
    }
    // The listing may not be sorted by key, or may have ended too early, so a HEAD decides.
    const now = listed.get(key) ?? (await headed(key));
    if (now === etag) present.push(object);
    else if (now !== null) fail(key, new Fault("OBJECT_CHANGED", { op: asked.action, subject: key }));
    else if (asked.action === "delete" || (await hasCopy(object))) succeed(object);
    else fail(key, new Fault("NO_SUCH_KEY", { op: asked.action, subject: key }));
  }
  return present;
}

async function removeAll(chunk: Chunk, objects: readonly PlannedObject[], { succeed, fail }: Ends): Promise<void> {
  const { hub, store, progress } = chunk;
  const { signal } = progress.stop;
  if (objects.length === 0) return;
  if (signal.aborted) throw new Fault("CANCELLED", { op: "bucket job" });
  await requireMayDelete(hub);
  const keys = objects.map(({ key }) => key);
  const failures = await withPatience(signal, () => deleteMany(store.client, store.access.bucket, keys));
  for (const object of objects) {
    const fault = failures.get(object.key);
    if (fault === undefined) succeed(object);
    else fail(object.key, fault);
  }
}
