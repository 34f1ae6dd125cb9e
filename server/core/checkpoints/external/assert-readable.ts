import { Fault } from "#protocol/faults/fault.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { describeObject } from "#storage/s3/browse.ts";
import type { ListedObject } from "#storage/s3/listing.ts";
import { isArchive } from "#storage/answers/storage-class.ts";
import type { OpenStore } from "../../api/ports/stores.ts";

/** Asked at a time. */
const WIDTH = 8;
/** So many are named. */
const NAMED = 5;

type Store = Pick<OpenStore, "client"> & { access: Pick<OpenStore["access"], "bucket"> };
type Asked = { objects: readonly ListedObject[]; signal: AbortSignal };

/**
 * Asks for each object that lies in an archive whether somebody had it brought back; returns the keys of those that were not.
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

/** Says of which objects, or files, nobody can read the bytes now. */
export function archivedFault(op: string, names: readonly string[]): Fault {
  const named = names.slice(0, NAMED).join(", ");
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  const detail = names.length === 1 ? {} : { detail: `${named}${more}` };
  return new Fault("OBJECT_ARCHIVED", { op, subject: names[0] ?? "", ...detail });
}

/** @throws Fault OBJECT_ARCHIVED that names the objects of which nobody can read the bytes now, CANCELLED, those of the store */
export async function assertReadable(store: Store, asked: Asked): Promise<void> {
  const archived = await findArchived(store, asked);
  if (archived.length > 0) throw archivedFault("adopt", archived);
}
