import { randomUUID } from "node:crypto";
import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { LEASE_MS, readLeaseText, writerLeaseKey, type WriterLease } from "#protocol/checkpoint/writer-lease.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { getObjectText, putObjectText } from "#storage/s3/objects.ts";
import type { OpenStore } from "../api/ports/stores.ts";

/** Takes runs from nodes that wrote them without a hub, by replacing the lease of each run. */

const MOST_LEASE_BYTES = 64 * 1024;

type Place = Pick<OpenStore, "client" | "access" | "prefix">;

/** Returns the lease of a node that wrote the run without a hub; null when there is none. */
async function readLease({ client, access, prefix }: Place, run: EpochClaim["run"]): Promise<WriterLease | null> {
  try {
    const at = { bucket: access.bucket, key: writerLeaseKey(prefix, run), maxBytes: MOST_LEASE_BYTES };
    return readLeaseText((await getObjectText(client, at)).text);
  } catch (error) {
    if (isFault(error) && (error.code === "NO_SUCH_KEY" || error.code === "NOT_FOUND")) return null;
    throw error;
  }
}

/** When each lease was first seen, by its nonce, on a monotonic clock. */
const seen = new Map<string, number>();
const MOST_SEEN = 1_000;

/** Returns how long the holder of a lease may still write, in ms. Only the hub's own clock counts. */
function leftOf(lease: WriterLease): number {
  if (lease.by === "hub" || lease.until <= lease.renewedAt) return 0;
  const now = performance.now();
  const since = seen.get(lease.nonce) ?? now;
  const [oldest] = seen.keys();
  if (seen.size >= MOST_SEEN && oldest !== undefined) seen.delete(oldest);
  seen.set(lease.nonce, since);
  return Math.max(0, since + LEASE_MS - now);
}

/**
 * Takes the run from a node that wrote it without a hub, by replacing its lease; that node's next commit reads the lease and
 * fails. Returns whether the node wrote after the last hub did, so that the bucket must be read again. @throws Fault
 * RUN_IN_USE while that node holds its lease, those of the store
 */
export async function takeFromStandalone(store: Place, claim: EpochClaim, now: number): Promise<boolean> {
  const { run, epoch, node } = claim;
  const lease = await readLease(store, run);
  if (lease === null) return false;
  const leftMs = lease.node.id === node.id ? 0 : leftOf(lease);
  if (leftMs > 0) {
    const detail = `${visibleText(lease.node.name)} writes it without a hub (--to); its lease ends in ${formatDuration(leftMs)} unless it is renewed`;
    throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail });
  }
  const taken: WriterLease = { ...lease, epoch, node, by: "hub", renewedAt: now, until: now, nonce: randomUUID() };
  const { client, access, prefix } = store;
  const key = writerLeaseKey(prefix, run);
  await putObjectText(client, { bucket: access.bucket, key, text: JSON.stringify(taken) });
  return lease.by === "node";
}
