import { isFault } from "#protocol/faults/fault.ts";
import type { StoreSession } from "#worker/store-session/store-session.ts";
import { usage } from "#worker/command-line/command-context.ts";
import { listPages } from "#worker/object-copy/listing/list-objects.ts";

/**
 * Returns whether an object is the mark of a folder, as some tools write it: an empty object `model0` beside
 * `model0/w.bin`. Takes one listing of one key, and none for an object with content. An object whose folder the keys may
 * not list stands for itself. @throws Faults of the listing except ACCESS_DENIED
 */
export async function standsForFolder(
  storeSession: StoreSession,
  about: { key: string; sizeBytes: number; signal: AbortSignal },
): Promise<boolean> {
  const { key, sizeBytes, signal } = about;
  if (sizeBytes > 0) return false;
  const prefix = `${key}/`;
  try {
    for await (const page of listPages(storeSession, { prefix, firstKeys: 2, mostPages: 1, signal })) {
      // `model0` beside `model0/` alone: two marks of nothing.
      if (page.unreadable.length > 0 || page.objects.some((object) => object.key !== prefix)) return true;
    }
  } catch (error) {
    if (!isFault(error) || error.code !== "ACCESS_DENIED") throw error;
  }
  return false;
}

/** Refuses an object that is only the mark of a folder, where the content of one object is asked for. @throws Fault BAD_INPUT */
export async function assertNoMark(
  storeSession: StoreSession,
  about: { key: string; sizeBytes: number; signal: AbortSignal },
): Promise<void> {
  if (!(await standsForFolder(storeSession, about))) return;
  const { bucket } = storeSession.access;
  const detail = `it is empty and stands for the folder s3://${bucket}/${about.key}/; name one object below it`;
  throw usage(`s3://${bucket}/${about.key}`, detail);
}
