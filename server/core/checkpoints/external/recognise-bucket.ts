import type * as z from "zod";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { Recognised, recogniseInput, RecognisedPage } from "#protocol/recognition/recognise.ts";
import { unreadableWords } from "#protocol/checkpoint/unreadable-names.ts";
import { listObjectPages } from "#storage/s3/listing.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { createRecogniser, type Recogniser } from "#storage/detect/recognise.ts";
import {
  countUnreadable,
  MOST_UNREADABLE,
  noUnreadable,
  type Unreadable,
} from "#server/core/profiles/count-unreadable.ts";
import type { Hub } from "#server/core/api/hub.ts";
import type { OpenStore } from "../../api/ports/stores.ts";
import { inspectObject } from "../find-file.ts";

/** A page never splits a checkpoint, unless it has more objects than this. */
const MOST_OF_ONE = 200_000;
/** A store that does not sort its listings is listed in one page, up to this many objects. */
const MOST_UNSORTED = 1_000_000;
const MOST_READ = 50;
const MOST_ASKED = 500;
const MOST_TEXT_BYTES = 64 * 1024;

/**
 * Returns a page of checkpoints that other tools wrote under a prefix. Reads a listing and the few small files whose content
 * decides, but no data. Faults: NOT_FOUND, CANCELLED, those of the listing (a failed listing is never taken for a short one).
 */
export async function recogniseBucket(
  hub: Hub,
  input: z.infer<typeof recogniseInput>,
  asked: AbortSignal,
): Promise<RecognisedPage> {
  const signal = AbortSignal.any([asked, hub.closing]);
  const store = await hub.stores.open(input.profileId);
  const recogniser = createRecogniser(store.prefix);
  const warnings: string[] = [];
  const unreadable = noUnreadable();
  const cursor = await listInto(recogniser, { store, input, signal, warnings, unreadable });
  if (unreadable.count > 0) warnings.push(`left out: ${unreadableWords(unreadable.first, unreadable.count)}`);
  await readWanted(hub, { recogniser, store, signal, warnings });
  const found = recogniser.end();
  return { ...found, adopted: await adoptedAmong(hub, input.profileId, found), cursor, warnings };
}

/** Returns the ids of those that are registered already, by place. */
async function adoptedAmong(hub: Hub, profileId: string, { runs }: Recognised): Promise<Record<string, string>> {
  const places = runs.flatMap(({ steps }) => steps.map(({ place }) => place));
  const known: Record<string, string> = {};
  for (let first = 0; first < places.length; first += MOST_ASKED) {
    const where = { profileId, place: { in: places.slice(first, first + MOST_ASKED) } };
    for (const { place, checkpointId } of await hub.db.adoption.findMany({ where })) known[place] = checkpointId;
  }
  return known;
}

interface Listing {
  store: OpenStore;
  input: z.infer<typeof recogniseInput>;
  signal: AbortSignal;
  warnings: string[];
  unreadable: Unreadable;
}

/** Returns the key after which the next page begins; null when there is none. */
async function listInto(recogniser: Recogniser, about: Listing): Promise<string | null> {
  const { store, input, signal, warnings, unreadable } = about;
  const { bucket } = store.access;
  const startAfter = input.cursor === null ? {} : { startAfter: input.cursor };
  let [count, isSorted] = [0, true];
  let last: string | null = null;
  /** The key just before the checkpoint that is being listed. */
  let before: string | null = null;
  let place: string | null = null;
  /** Ends the page and returns the key after which the next one begins; null: no such key yet. */
  const cut = (): string | null => {
    if (place === null) return last;
    // The last checkpoint may continue, so all of it goes to the next page.
    if (before !== null) recogniser.drop(place);
    return before;
  };
  for await (const page of listObjectPages(store.client, { bucket, prefix: input.prefix, signal, ...startAfter })) {
    countUnreadable(unreadable, page.unreadable);
    for (const { key, sizeBytes, modifiedAt, storageClass } of page.rows) {
      if (last !== null && !comesAfter(key, last)) isSorted = false;
      const previous: string | null = place;
      recogniser.add({ key, sizeBytes, modifiedAt, storageClass });
      place = recogniser.lastPlace;
      if (place !== previous || place === null) before = last;
      last = key;
      if (++count + unreadable.count < input.limit) continue;
      if (!isSorted) {
        if (count < MOST_UNSORTED) continue;
        warnings.push(
          `this store does not sort its listings, and only its first ${MOST_UNSORTED} objects were looked at`,
        );
        return null;
      }
      const end = cut();
      if (end !== null) return end;
      if (count >= MOST_OF_ONE) {
        warnings.push(`${place} has more than ${MOST_OF_ONE} objects; what is said of it is of these`);
        return key;
      }
    }
    if (unreadable.count < MOST_UNREADABLE) continue;
    const end = isSorted ? cut() : null;
    if (end === null) warnings.push("so many names are not valid UTF-8 that what comes after them was not looked at");
    return end;
  }
  return null;
}

/** Compares keys by UTF-8 bytes, as S3 sorts them. */
const comesAfter = (key: string, last: string): boolean => Buffer.compare(Buffer.from(key), Buffer.from(last)) > 0;

/**
 * Reads the few small files whose content decides. An unreadable one becomes a warning. Faults: CANCELLED, those that are not
 * about one object.
 */
export async function readWanted(
  hub: Hub,
  about: { recogniser: Recogniser; store: OpenStore; signal: AbortSignal; warnings: string[] },
): Promise<void> {
  const { recogniser, store, signal, warnings } = about;
  const { bucket } = store.access;
  for (const { key, kind } of recogniser.wanted().slice(0, MOST_READ)) {
    if (signal.aborted) throw new Fault("CANCELLED", { op: "recognise" });
    try {
      if (kind === "text") {
        recogniser.tellText(key, (await getObjectText(store.client, { bucket, key, maxBytes: MOST_TEXT_BYTES })).text);
      } else {
        const found = await inspectObject(hub, { store, key, etag: null, signal });
        const isList = found.format === "torch-dcp" || found.format === "orbax";
        if (isList && found.fault === null) recogniser.tellList(key, found.names);
        else warnings.push(`${key} could not be read`);
      }
    } catch (error) {
      if (!isFault(error) || signal.aborted) throw error;
      if (kind === "text" && error.code === "NO_SUCH_KEY") recogniser.tellText(key, null);
      else warnings.push(error.message);
    }
  }
}
