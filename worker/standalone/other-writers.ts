import { OWN_FOLDERS } from "#protocol/checkpoint/keys.ts";
import { runName } from "#protocol/base/names.ts";
import { LEASE_MS } from "#protocol/checkpoint/writer-lease.ts";
import type { BucketCalls } from "./bucket-calls.ts";
import { readLeaseOrNull } from "./writer-lease.ts";

/** Another node that is writing a run below the same prefix. */
export interface OtherWriter {
  run: string;
  node: string;
}

/** Finds the other nodes that write below a prefix: several nodes are easier to manage with a hub. */
export interface OtherWriters {
  /** Result of the last search. */
  readonly found: readonly OtherWriter[];
  /** Searches again, unless the last search was a moment ago. Never throws, because nothing depends on it. */
  look(): void;
}

const EVERY_MS = 60_000;
/** A lease that was not renewed for this long is over, whatever the clocks show. */
const OLD_MS = 10 * LEASE_MS;
/** Number of nodes that a sentence names. */
const MOST_LEASES = 32;

/** Returns the nodes other than `nodeId` that hold a lease below the prefix. Faults: those of the store. */
export async function findOtherWriters(
  { calls, prefix }: { calls: BucketCalls; prefix: string },
  nodeId: string,
): Promise<OtherWriter[]> {
  const folder = `${prefix}${OWN_FOLDERS.own}writers/`;
  const found: OtherWriter[] = [];
  let leases = 0;
  for await (const { key, modifiedAtMs } of calls.list(folder)) {
    const run = runName.safeParse(key.slice(folder.length).replace(/\.json$/, ""));
    if (!run.success) continue;
    // Leases of ended runs are never deleted.
    if (modifiedAtMs !== null && modifiedAtMs + OLD_MS < calls.now()) continue;
    if (++leases > MOST_LEASES) break;
    const lease = await readLeaseOrNull({ calls, prefix, run: run.data });
    if (lease?.lease == null || lease.leftMs === 0 || lease.lease.node.id === nodeId) continue;
    found.push({ run: run.data, node: lease.lease.node.name });
  }
  return found;
}

export function createOtherWriters(at: { calls: BucketCalls; prefix: string }, nodeId: string): OtherWriters {
  let found: readonly OtherWriter[] = [];
  let lookedAt = -Infinity;
  return {
    get found() {
      return found;
    },
    look: () => {
      const now = performance.now();
      if (now - lookedAt < EVERY_MS) return;
      lookedAt = now;
      void findOtherWriters(at, nodeId).then(
        (writers) => void (found = writers),
        () => undefined,
      );
    },
  };
}
