import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { listObjects, type ListedObject } from "#storage/s3/listing.ts";
import type { Checkpoint } from "#prisma/client/client.ts";
import { archivedFault, findArchived } from "./external/assert-readable.ts";
import type { Hub } from "../api/hub.ts";
import type { OpenStore } from "../api/ports/stores.ts";

/**
 * Refuses a restore whose files are archived. A lifecycle rule may have moved objects to an archive class, which must be
 * restored before reading. The refusal names the files. It does not apply if another home has a copy.
 */

/** A result is valid this long, so that a fleet that restores asks once. */
const HOLDS_MS = 60_000;
const MOST_KEPT = 64;
const kept = new WeakMap<object, Map<string, { at: number; archived: Promise<readonly string[]> }>>();

type Restored = Pick<Checkpoint, "id" | "profileId" | "bucket">;

/** Returns folders that contain all the keys, none inside another. */
function foldersOf(keys: ReadonlySet<string>): string[] {
  const found: string[] = [];
  // In sorted order a folder comes right before everything inside it.
  for (const folder of [...new Set([...keys].map((key) => key.slice(0, key.lastIndexOf("/") + 1)))].toSorted()) {
    const last = found.at(-1);
    if (last === undefined || !folder.startsWith(last)) found.push(folder);
  }
  return found;
}

async function readArchived(store: OpenStore, bucket: string, keys: ReadonlySet<string>): Promise<readonly string[]> {
  const objects: ListedObject[] = [];
  for (const prefix of foldersOf(keys)) {
    for await (const object of listObjects(store.client, { bucket, prefix }))
      if (keys.has(object.key)) objects.push(object);
  }
  const { signal } = new AbortController();
  return findArchived({ client: store.client, access: { bucket } }, { objects, signal });
}

async function archivedKeys(hub: Hub, checkpoint: Restored, keys: ReadonlySet<string>): Promise<readonly string[]> {
  const known = kept.get(hub) ?? new Map<string, { at: number; archived: Promise<readonly string[]> }>();
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
 * Refuses a checkpoint with archived files. `files` are the wanted ones; null: all. If the store does not answer, the restore
 * goes on and meets the error itself. @throws Fault OBJECT_ARCHIVED with the files by name
 */
export async function refuseArchived(
  hub: Hub,
  checkpoint: Restored,
  { manifest, files }: { manifest: Pick<StoredManifest, "files">; files: readonly string[] | null },
): Promise<void> {
  const where = { checkpointId: checkpoint.id, state: "complete", damagedAt: null };
  if ((await hub.db.checkpointCopy.count({ where })) > 0) return;
  const keys = new Set<string>(manifest.files.flatMap(({ extents }) => extents.map(({ key }) => key)));
  if (keys.size === 0) return;
  const archived = new Set(await archivedKeys(hub, checkpoint, keys).catch(() => []));
  if (archived.size === 0) return;
  const wanted = files === null ? null : new Set(files);
  const names = manifest.files
    .filter(({ path, extents }) => wanted?.has(path) !== false && extents.some(({ key }) => archived.has(key)))
    .map(({ path }) => path as string);
  if (names.length > 0) throw archivedFault("restore", names);
}
