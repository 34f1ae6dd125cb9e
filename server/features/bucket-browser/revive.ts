import { Fault } from "#protocol/faults/fault.ts";
import { describeObject } from "#storage/s3/browse.ts";
import { copyWithin } from "#storage/s3/copy-within.ts";
import { NONCE_METADATA } from "#storage/signing/signing.ts";
import { deleteVersion, findVersions } from "#storage/s3/versions.ts";
import { inLanes, withPatience, type Chunk, type Ends } from "./in-lanes.ts";
import type { PlannedObject } from "./gather-plan.ts";
import { loadGuard } from "./protect.ts";

/**
 * Makes older versions current again: an object by copying the version onto its key, a deletion by deleting its marker. Nothing
 * is lost, because the former content stays as an old version. The newest version is read again first, so that a key that
 * changed since the plan stays as it is.
 */
export async function reviveAll(chunk: Chunk, ends: Ends): Promise<void> {
  const { hub, store, objects, progress } = chunk;
  const guard = await loadGuard(hub, store);
  const { signal } = progress.stop;
  await inLanes(objects, ends, async (object) => {
    if (guard.of(object.key) !== null)
      throw new Fault("BELONGS_TO_TIDEMARK", { op: "bring back", subject: object.key });
    await withPatience(signal, () => reviveOne(chunk, object));
  });
}

/** Makes one version current again. @throws Fault OBJECT_CHANGED, NO_SUCH_KEY, CANCELLED, those of a copy */
async function reviveOne({ store, jobId, progress }: Chunk, object: PlannedObject): Promise<void> {
  const { key, sizeBytes, etag, version } = object;
  const { bucket, traits } = store.access;
  const { signal } = progress.stop;
  const about = { op: "bring back", subject: key };
  if (version === undefined) throw new Fault("BAD_INPUT", about);
  const at = { bucket, key, versionId: version.id, signal };
  const { newest, wanted } = await findVersions(store.client, at);
  if (version.isMark) {
    // The hub did it already, before it was killed.
    if (wanted === null && newest !== null && !newest.isDeleteMarker) return;
    if (wanted?.isLatest !== true) throw new Fault("OBJECT_CHANGED", about);
    await deleteVersion(store.client, at);
    return;
  }
  if ((newest?.versionId ?? null) !== version.newestId) {
    if (newest === null || newest.isDeleteMarker || newest.sizeBytes !== sizeBytes)
      throw new Fault("OBJECT_CHANGED", about);
    if (newest.etag === etag) return;
    // A copy in ranges has a different ETag, but the id of the job in its metadata.
    const there = await describeObject(store.client, { bucket, key, withChecksums: "left out", signal });
    if (there.metadata.some(({ name, value }) => name === NONCE_METADATA && value === jobId)) return;
    throw new Fault("OBJECT_CHANGED", about);
  }
  if (wanted === null) throw new Fault("NO_SUCH_KEY", { ...about, detail: "this version of it is gone" });
  const copy = { bucket, source: key, target: key, sizeBytes, etag, nonce: jobId, traits, signal };
  await copyWithin(store.client, { ...copy, version: version.id });
}
