import { forEachOf } from "#protocol/base/for-each-of.ts";
import { describeObject } from "#storage/s3/browse.ts";
import type { ListedObject } from "#storage/s3/listing.ts";
import { archivedFault, type Unreadable } from "#storage/answers/archived-fault.ts";
import { mayBeArchived } from "#storage/answers/storage-class.ts";
import type { OpenStore } from "../../api/ports/stores.ts";

/** Requests in parallel. */
const WIDTH = 8;

type Store = Pick<OpenStore, "client"> & { access: Pick<OpenStore["access"], "bucket"> };
type Asked = { objects: readonly ListedObject[]; signal: AbortSignal };

/**
 * Returns the objects whose bytes cannot be read now, because they are archived or are being restored, sorted by key. Sends
 * one request per object that may be archived by its class. @throws Fault CANCELLED, those of the store
 */
export async function findArchived(store: Store, { objects, signal }: Asked): Promise<Unreadable[]> {
  const { client } = store;
  const { bucket } = store.access;
  const archived: Unreadable[] = [];
  await forEachOf(objects.filter(mayBeArchived), WIDTH, async ({ key }) => {
    const { archive } = await describeObject(client, { bucket, key, withChecksums: "left out", signal });
    if (archive !== "readable") archived.push({ name: key, state: archive });
  });
  return archived.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Checks that all objects can be read now. @throws Fault OBJECT_ARCHIVED or OBJECT_BEING_RESTORED with their names, CANCELLED,
 * those of the store
 */
export async function assertReadable(store: Store, asked: Asked): Promise<void> {
  const archived = await findArchived(store, asked);
  if (archived.length > 0) throw archivedFault("adopt", archived);
}
