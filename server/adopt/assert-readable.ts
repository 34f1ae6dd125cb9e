import { Fault } from "#protocol/fault.ts";
import { forEachOf } from "#protocol/for-each-of.ts";
import { describeObject } from "#storage/browse.ts";
import type { ListedObject } from "#storage/listing.ts";
import { isArchive } from "#storage/storage-class.ts";
import type { OpenStore } from "../profiles/open-store.ts";

/** Asked at a time. */
const WIDTH = 8;
/** So many are named. */
const NAMED = 5;

/**
 * Asks for each object that lies in an archive whether somebody had it brought back.
 * @throws Fault OBJECT_ARCHIVED that names those which were not, CANCELLED, those of the store
 */
export async function assertReadable(
  store: Pick<OpenStore, "client"> & { access: Pick<OpenStore["access"], "bucket"> },
  { objects, signal }: { objects: readonly ListedObject[]; signal: AbortSignal },
): Promise<void> {
  const { client } = store;
  const { bucket } = store.access;
  const archived: string[] = [];
  const asked = objects.filter(({ storageClass }) => isArchive(storageClass));
  await forEachOf(asked, WIDTH, async ({ key }) => {
    const found = await describeObject(client, { bucket, key, withChecksums: "left out", signal });
    if (found.isArchived) archived.push(key);
  });
  const [first] = archived.sort();
  if (first === undefined) return;
  const named = archived.slice(0, NAMED).join(", ");
  const more = archived.length > NAMED ? ` and ${archived.length - NAMED} more` : "";
  const detail = archived.length === 1 ? {} : { detail: `${named}${more}` };
  throw new Fault("OBJECT_ARCHIVED", { op: "adopt", subject: first, ...detail });
}
