import { hubMarkKey, readMarkText, type HubMark } from "#protocol/checkpoint/writer-lease.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { deleteObject, getObjectText, putObjectText } from "#storage/s3/objects.ts";
import type { Hub } from "../api/hub.ts";
import type { OpenStore } from "../api/ports/stores.ts";

/** Writes the mark of this hub under a prefix. Nodes without a hub write nothing there while it lies there. */

type Marked = Pick<OpenStore, "client" | "access" | "prefix">;
type Marking = Pick<Hub, "db" | "settings" | "now">;

const MOST_MARK_BYTES = 64 * 1024;

/** The places that each hub of this process has marked, so that it asks each bucket once. */
const marked = new WeakMap<object, Set<string>>();

const placeOf = ({ access, prefix }: Marked): string => `${access.endpoint} ${access.bucket} ${prefix}`;

/**
 * Marks the prefix as managed by a hub, unless this process has done so already. @throws Fault those of the store
 */
export async function markPrefix(hub: Marking, store: Marked): Promise<void> {
  const known = marked.get(hub.db) ?? new Set();
  marked.set(hub.db, known);
  if (known.has(placeOf(store))) return;
  await writeMark(hub, store);
  known.add(placeOf(store));
}

/** Marks the prefix again if its mark is gone or is none. @throws Fault those of the store */
export async function repairMark(hub: Marking, store: Marked): Promise<void> {
  const found = await readMark(store);
  if (found === null) await writeMark(hub, store);
}

/** Removes the mark of this hub, which does not manage the prefix any more. @throws Fault those of the store */
export async function removeMark(hub: Marking, store: Marked): Promise<void> {
  marked.get(hub.db)?.delete(placeOf(store));
  const found = await readMark(store);
  // A mark with another address belongs to another hub.
  if (found === null || found.url !== urlOf(hub)) return;
  await deleteObject(store.client, { bucket: store.access.bucket, key: hubMarkKey(store.prefix) });
}

const urlOf = ({ settings }: Pick<Marking, "settings">): string | null => settings.publicUrl?.href ?? null;

/** Returns the mark; null when there is none, or an object that is none. Faults: those of the store. */
async function readMark({ client, access, prefix }: Marked): Promise<HubMark | null> {
  try {
    const at = { bucket: access.bucket, key: hubMarkKey(prefix), maxBytes: MOST_MARK_BYTES };
    return readMarkText((await getObjectText(client, at)).text);
  } catch (error) {
    if (isFault(error) && NO_MARK.has(error.code)) return null;
    throw error;
  }
}

const NO_MARK: ReadonlySet<FaultCode> = new Set(["NO_SUCH_KEY", "NOT_FOUND", "TOO_LARGE", "BAD_INPUT"]);

/** @throws Fault those of the store */
async function writeMark(hub: Marking, { client, access, prefix }: Marked): Promise<void> {
  const url = urlOf(hub);
  const now = hub.now();
  const mark: HubMark = { format: "tidemark.hub", version: 1, url, markedAt: now };
  const once = access.traits.conditionalWrites ? { ifNoneMatch: "*" as const } : {};
  try {
    await putObjectText(client, {
      bucket: access.bucket,
      key: hubMarkKey(prefix),
      text: JSON.stringify(mark),
      ...once,
    });
  } catch (error) {
    // Nodes without a hub refuse the prefix whatever the object says.
    if (!isFault(error) || error.code !== "ALREADY_EXISTS") throw error;
  }
}
