import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { listObjects, type ListedObject } from "#storage/s3/listing.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { archivedFault, type Unreadable } from "#storage/answers/archived-fault.ts";
import { archivedFiles, prefixesOf } from "#storage/manifest/archived-files.ts";
import { findArchived } from "./external/assert-readable.ts";
import type { Hub } from "../api/hub.ts";
import type { OpenStore } from "../api/ports/stores.ts";

/**
 * Refuses a restore whose files are archived. A lifecycle rule may have moved objects to an archive class, which must be
 * restored before reading. The refusal names the files. It does not apply if another home has a copy.
 */

/** A result is valid this long, so that a fleet that restores asks once. */
const HOLDS_MS = 60_000;
const MOST_KEPT = 64;
const kept = new WeakMap<object, Map<string, { at: number; archived: Promise<readonly Unreadable[]> }>>();

type Restored = Pick<Checkpoint, "id" | "profileId" | "bucket">;

async function readArchived(
  store: OpenStore,
  bucket: string,
  keys: ReadonlySet<string>,
): Promise<readonly Unreadable[]> {
  const objects: ListedObject[] = [];
  for (const prefix of prefixesOf(keys)) {
    for await (const object of listObjects(store.client, { bucket, prefix }))
      if (keys.has(object.key)) objects.push(object);
  }
  const { signal } = new AbortController();
  return findArchived({ client: store.client, access: { bucket } }, { objects, signal });
}

async function archivedKeys(hub: Hub, checkpoint: Restored, keys: ReadonlySet<string>): Promise<readonly Unreadable[]> {
  const known = kept.get(hub) ?? new Map<string, { at: number; archived: Promise<readonly Unreadable[]> }>();
  kept.set(hub, known);
  const before = known.get(checkpoint.id);
  if (before !== undefined && hub.now() - before.at < HOLDS_MS) return before.archived;
  const store = await hub.stores.open(checkpoint.profileId);
  const archived = readArchived(store, checkpoint.bucket, keys);
  const [oldest] = known.keys();
  if (known.size >= MOST_KEPT && oldest !== undefined) known.delete(oldest);
  known.set(checkpoint.id, { at: hub.now(), archived });
  archived.catch(() => known.delete(checkpoint.id));
  return archived;
}

/**
 * Returns the objects of a checkpoint that are archived; none when another home has a copy, or the store does not answer: the
 * restore goes on then and meets the error itself.
 */
export async function archivedObjects(
  hub: Hub,
  checkpoint: Restored,
  manifest: Pick<StoredManifest, "files">,
): Promise<readonly Unreadable[]> {
  const where = { checkpointId: checkpoint.id, state: "complete", damagedAt: null };
  if ((await hub.db.checkpointCopy.count({ where })) > 0) return [];
  const keys = new Set<string>(manifest.files.flatMap(({ extents }) => extents.map(({ key }) => key)));
  return keys.size === 0 ? [] : archivedKeys(hub, checkpoint, keys).catch(() => []);
}

/**
 * Refuses a checkpoint with archived files. `files` are the wanted ones; null: all.
 * @throws Fault OBJECT_ARCHIVED or OBJECT_BEING_RESTORED with the files by name
 */
export async function refuseArchived(
  hub: Hub,
  checkpoint: Restored,
  { manifest, files }: { manifest: Pick<StoredManifest, "files">; files: readonly string[] | null },
): Promise<void> {
  const found = archivedFiles(manifest, { archived: await archivedObjects(hub, checkpoint, manifest), files });
  if (found.length > 0) throw archivedFault("restore", found);
}
