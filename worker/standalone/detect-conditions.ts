import { randomUUID } from "node:crypto";
import { isFault } from "#protocol/faults/fault.ts";
import { probeKey } from "#protocol/checkpoint/keys.ts";
import type { BucketCalls } from "./bucket-calls.ts";

/** Codes of a store that refuses the header because it does not know it. */
const UNKNOWN: ReadonlySet<string> = new Set(["UNSUPPORTED", "BAD_INPUT", "STORE_REFUSED"]);

/**
 * Detects whether the store honors `if-none-match` and `if-match`, with one object that is deleted afterwards. A store
 * may answer 200 to a condition that it ignores; a second write reveals that. Faults: those of the store, CANCELLED.
 */
export async function detectConditions(calls: BucketCalls, prefix: string): Promise<boolean> {
  const key = probeKey(prefix, { nodeId: null, probeId: randomUUID() });
  try {
    const etag = await calls.write(key, "1", { kind: "absent" });
    if (etag === null) return false;
    const isFenced = (await calls.write(key, "2", { kind: "absent" })) === null;
    if (!isFenced) return false;
    const next = await calls.write(key, "3", { kind: "version", etag });
    return next !== null && (await calls.write(key, "4", { kind: "version", etag })) === null;
  } catch (error) {
    if (isFault(error) && UNKNOWN.has(error.code)) return false;
    throw error;
  } finally {
    await calls.remove(key).catch(() => undefined);
  }
}
