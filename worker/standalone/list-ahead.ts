import type { ListedObject } from "../object-copy/listing/list-objects.ts";
import type { BucketCalls } from "./bucket-calls.ts";

/** Folders with more objects are not held in memory. */
const MOST_OBJECTS = 200_000;

/** Objects of one folder, grouped by the subfolder that holds them. */
type Groups = ReadonlyMap<string, readonly ListedObject[]>;

/**
 * Lists whole folders at once, and returns calls that answer `list` and `folders` from the result. A page of a listing
 * holds a thousand objects, while each subfolder would cost a request. `folders` end in `/`. Later writes are not seen.
 * Faults: those of the store.
 */
export async function listAhead(calls: BucketCalls, folders: readonly string[]): Promise<BucketCalls> {
  const listed = new Map<string, Groups>();
  await Promise.all(
    folders.map(async (folder) => {
      const groups = await listGroups(calls, folder);
      if (groups !== null) listed.set(folder, groups);
    }),
  );
  return {
    ...calls,
    list: (prefix) => {
      const above = prefix.slice(0, prefix.lastIndexOf("/", prefix.length - 2) + 1);
      const groups = prefix.endsWith("/") ? listed.get(above) : undefined;
      return groups === undefined ? calls.list(prefix) : each(groups.get(prefix.slice(above.length, -1)) ?? []);
    },
    folders: async (prefix) => {
      const groups = listed.get(prefix);
      return groups === undefined ? calls.folders(prefix) : [...groups.keys()];
    },
  };
}

/** Returns null for a folder with too many objects. */
async function listGroups(calls: BucketCalls, folder: string): Promise<Groups | null> {
  const groups = new Map<string, ListedObject[]>();
  let count = 0;
  for await (const found of calls.list(folder)) {
    if (++count > MOST_OBJECTS) return null;
    const end = found.key.indexOf("/", folder.length);
    if (end < 0) continue;
    const name = found.key.slice(folder.length, end);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [found]);
    else group.push(found);
  }
  return groups;
}

async function* each(objects: readonly ListedObject[]): AsyncGenerator<ListedObject> {
  yield* objects;
}
