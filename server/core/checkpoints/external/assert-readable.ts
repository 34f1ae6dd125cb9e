import { Fault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { describeObject } from "#storage/s3/browse.ts";
import type { ListedObject } from "#storage/s3/listing.ts";
import { isArchive } from "#storage/answers/storage-class.ts";
import type { OpenStore } from "../../api/ports/stores.ts";

/** Requests in parallel. */
const WIDTH = 8;
/** Objects that an error names. */
const NAMED = 5;

type Store = Pick<OpenStore, "client"> & { access: Pick<OpenStore["access"], "bucket"> };
type Asked = { objects: readonly ListedObject[]; signal: AbortSignal };

/**
 * Returns the keys of objects in an archive storage class that nobody has restored. Sends one request per archived object.
 * @throws Fault CANCELLED, those of the store
 */
export async function findArchived(store: Store, { objects, signal }: Asked): Promise<string[]> {
  const { client } = store;
  const { bucket } = store.access;
  const archived: string[] = [];
  const asked = objects.filter(({ storageClass }) => isArchive(storageClass));
  await forEachOf(asked, WIDTH, async ({ key }) => {
    const found = await describeObject(client, { bucket, key, withChecksums: "left out", signal });
    if (found.isArchived) archived.push(key);
  });
  return archived.sort();
}

/** Returns a Fault that names archived objects or files, whose bytes cannot be read now. */
export function archivedFault(op: string, names: readonly string[]): Fault {
  const named = names.slice(0, NAMED).join(", ");
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  const detail = names.length === 1 ? {} : { detail: `${named}${more}` };
  return new Fault("OBJECT_ARCHIVED", { op, subject: names[0] ?? "", ...detail });
}

/** Checks that all objects can be read now. @throws Fault OBJECT_ARCHIVED with their names, CANCELLED, those of the store */
export async function assertReadable(store: Store, asked: Asked): Promise<void> {
  const archived = await findArchived(store, asked);
  if (archived.length > 0) throw archivedFault("adopt", archived);
}
