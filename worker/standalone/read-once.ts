import { forEachOf } from "#protocol/base/for-each-of.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { BucketCalls } from "./bucket-calls.ts";

/**
 * Fetches the objects that `known` lacks; for objects that never change. Stores null for an object that is not text, is
 * too large, or that `parse` refuses with BAD_INPUT. Stores nothing for a missing object. Faults: those of the store
 * and of `parse`.
 */
export async function readOnce<T>(
  calls: BucketCalls,
  keys: readonly string[],
  { known, parse }: { known: Map<string, T | null>; parse(object: { key: string; text: string }): T | null },
): Promise<void> {
  await forEachOf(
    keys.filter((key) => !known.has(key)),
    calls.width,
    async (key) => {
      try {
        const found = await calls.read(key);
        if (found !== null) known.set(key, parse({ key, text: found.text }));
      } catch (error) {
        if (!isFault(error) || (error.code !== "BAD_INPUT" && error.code !== "TOO_LARGE")) throw error;
        known.set(key, null);
      }
    },
  );
}
