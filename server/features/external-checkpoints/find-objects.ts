import { Fault } from "#protocol/faults/fault.ts";
import { MAX_FILES } from "#protocol/checkpoint/checkpoint.ts";
import { type ListedObject, listObjectPages } from "#storage/s3/listing.ts";
import { isOwnKey } from "#storage/detect/is-own-key.ts";
import { placeOf } from "#storage/detect/place-of.ts";
import {
  countUnreadable,
  MOST_UNREADABLE,
  noUnreadable,
  type Unreadable,
} from "#server/core/profiles/count-unreadable.ts";
import { createPauses } from "#server/platform/pauses.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "#server/core/api/ports/stores.ts";

const MOST_LISTED = 200_000;

const refuse = (place: string, detail: string): Fault =>
  new Fault("BAD_INPUT", { op: "adopt", subject: place, detail });

/**
 * Finds the objects of a checkpoint that another tool left. Takes the objects whose names belong to the place. Where only its
 * files tell that a folder is a model, also takes the other files directly in it (configuration, tokenizer). Names that are not
 * valid UTF-8, which no request can ask for, are returned separately.
 * @throws Fault BAD_INPUT when it is Tidemark's own, or too much; NO_SUCH_KEY when nothing is there; those of the listing
 */
export async function findObjects(
  hub: Pick<Hub, "db">,
  { store, place, kind, signal }: { store: OpenStore; place: string; kind: "folder" | "file"; signal: AbortSignal },
): Promise<{ objects: ListedObject[]; unreadable: Unreadable }> {
  const { bucket } = store.access;
  const prefixes = await hub.db.profile.findMany({ where: { bucket }, select: { prefix: true } });
  const found: ListedObject[] = [];
  const all: ListedObject[] = [];
  const unreadable = noUnreadable();
  for await (const page of listObjectPages(store.client, { bucket, prefix: place, signal })) {
    countUnreadable(unreadable, page.unreadable);
    all.push(...page.rows);
    if (all.length + unreadable.count > MOST_LISTED)
      throw refuse(place, `more than ${MOST_LISTED} objects begin with this name`);
    if (unreadable.count >= MOST_UNREADABLE)
      throw refuse(place, `at least ${MOST_UNREADABLE} names that begin with this one are not valid UTF-8`);
  }
  const isWhole = kind === "folder" && all.some(({ key }) => isOrbaxFolder(key.slice(place.length)));
  const pauses = createPauses();
  for (const object of all) {
    if (pauses.isDue()) await pauses.take();
    if (!belongs(object.key, { place, kind, isWhole })) continue;
    if (prefixes.some(({ prefix }) => isOwnKey(prefix, object.key)))
      throw refuse(place, "Tidemark wrote it itself; rebuild the hub's record to have it back");
    if (found.length >= MAX_FILES) throw refuse(place, `it has more than ${MAX_FILES} files`);
    found.push(object);
  }
  if (found.length === 0) throw new Fault("NO_SUCH_KEY", { op: "adopt", subject: place });
  return { objects: found, unreadable: kind === "file" ? noUnreadable() : unreadable };
}

/** Returns whether a name shows that Orbax has the whole folder: names of its arrays and items alone do not tell. */
const isOrbaxFolder = (inside: string): boolean => inside === "_METADATA" || inside === "_CHECKPOINT_METADATA";

function belongs(key: string, about: { place: string; kind: "folder" | "file"; isWhole: boolean }): boolean {
  const { place, kind, isWhole } = about;
  if (kind === "file") return key === place;
  const inside = key.slice(place.length);
  // Consoles create keys that stand for the folder itself.
  if (inside === "" || inside.endsWith("/")) return false;
  if (isWhole) return true;
  const at = placeOf(key);
  return at === null ? !inside.includes("/") : at.place === place;
}
