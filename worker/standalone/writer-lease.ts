import { randomUUID } from "node:crypto";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { NodeName, RunName } from "#protocol/base/names.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { LEASE_MS, readLeaseText, writerLeaseKey, type WriterLease } from "#protocol/checkpoint/writer-lease.ts";
import type { BucketCalls } from "./bucket-calls.ts";

/** The right to write a run, which this node holds in its bucket. */
export interface Lease {
  /** Set once another writer was seen; this node then writes nothing any more. */
  readonly lost: Fault | null;
  /** Writes the epoch into the lease. @throws Fault EPOCH_OVER when another writer holds it, those of the store */
  setEpoch(epoch: number): Promise<void>;
  /**
   * Renews the lease if its last write is more than `olderMs` ago: nobody else takes it before `LEASE_MS`. @throws
   * Fault EPOCH_OVER when another writer holds it, those of the store
   */
  renew(olderMs: number): Promise<void>;
  /** Frees the lease for the next writer, and stops renewing it. Never throws. */
  giveBack(): Promise<void>;
}

export interface LeaseParts {
  calls: BucketCalls;
  prefix: string;
  run: RunName;
  node: { id: string; name: NodeName };
  /** The store honors conditional writes; without them the later write wins, and epochs keep attempts apart. */
  isConditional: boolean;
}

interface Found {
  /** Null: the object is not a lease. */
  lease: WriterLease | null;
  etag: string;
  /** Time for which its writer may still write, by the store's clock alone; 0: the lease is over. */
  leftMs: number;
}

/** Returns the lease object; null when there is none. Faults: those of the store. */
export async function readLease({
  calls,
  prefix,
  run,
}: Pick<LeaseParts, "calls" | "prefix" | "run">): Promise<Found | null> {
  const found = await calls.read(writerLeaseKey(prefix, run));
  if (found === null) return null;
  // Text that is not a lease belongs to nobody, and is overwritten.
  const lease = readLeaseText(found.text);
  // The store tells when it was written, so a writer with a wrong clock does not hold a run for longer.
  const writtenAt = found.modifiedAtMs ?? lease?.renewedAt ?? 0;
  const isGivenBack = lease === null || lease.by === "hub" || lease.until <= lease.renewedAt;
  const leftMs = isGivenBack ? 0 : Math.max(0, Math.min(LEASE_MS, writtenAt + LEASE_MS - calls.now()));
  return { lease, etag: found.etag, leftMs };
}

/** Works as `readLease`, but returns null also for an object that is not text. Faults: those of the store. */
export async function readLeaseOrNull(at: Parameters<typeof readLease>[0]): Promise<Found | null> {
  try {
    return await readLease(at);
  } catch (error) {
    if (isFault(error) && (error.code === "BAD_INPUT" || error.code === "TOO_LARGE")) return null;
    throw error;
  }
}

const writerOf = (lease: WriterLease | null): string =>
  lease === null ? "somebody" : lease.by === "hub" ? "a hub" : visibleText(lease.node.name);

/** Refuses a lease of another writer. @throws Fault RUN_IN_USE: another node wrote it less than `LEASE_MS` ago */
function assertFree(found: Found | null, { run, node }: LeaseParts): void {
  if (found === null || found.leftMs <= 0 || found.lease?.node.id === node.id) return;
  const detail = `${writerOf(found.lease)} writes it; its lease ends in ${formatDuration(found.leftMs)} unless it is renewed`;
  throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail });
}

/**
 * Takes the lease of a run when there is none, when the present one is over, or when it is this node's own. @throws
 * Fault RUN_IN_USE, those of the store
 */
export async function takeLease(parts: LeaseParts): Promise<Lease> {
  const { calls, prefix, run, node, isConditional } = parts;
  const key = writerLeaseKey(prefix, run);
  const leaseFor = (epoch: number, isOver: boolean): WriterLease => {
    const now = Math.round(calls.now());
    const until = isOver ? now : now + LEASE_MS;
    return {
      format: "tidemark.writer",
      version: 1,
      run,
      epoch,
      node,
      by: "node",
      renewedAt: now,
      until,
      nonce: randomUUID(),
    };
  };
  /** Nonces of writes without an answer: the store may still carry them out. */
  const unanswered = new Set<string>();
  const write = async (lease: WriterLease, over: string | null) => {
    const condition = over === null ? ({ kind: "absent" } as const) : ({ kind: "version", etag: over } as const);
    const startedMs = performance.now();
    unanswered.add(lease.nonce);
    const etag = await calls.write(key, JSON.stringify(lease), isConditional ? condition : undefined);
    unanswered.delete(lease.nonce);
    return etag === null ? null : { lease, etag, startedMs };
  };
  const before = await readLease(parts);
  assertFree(before, parts);
  const taken = await write(leaseFor(before?.lease?.epoch ?? 1, false), before?.etag ?? null);
  // Another node was faster.
  if (taken === null) {
    assertFree(await readLease(parts), parts);
    throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail: "another node takes it at the same time" });
  }
  let held = taken;
  let lost: Fault | null = null;
  let isOver = false;
  /** Writes one at a time, because each is conditional on the one before. */
  let queue: Promise<unknown> = Promise.resolve();
  let renewing: Promise<void> | null = null;
  const lose = (by: WriterLease | null): Fault =>
    (lost ??= new Fault("EPOCH_OVER", { op: "writer", subject: run, detail: `${writerOf(by)} writes it now` }));
  const rewrite = async (epoch: number): Promise<void> => {
    if (lost !== null) throw lost;
    if (!isConditional) {
      const there = (await readLease(parts))?.lease ?? null;
      const isOthers = there !== null && there.node.id !== node.id && there.epoch >= held.lease.epoch;
      if (isOthers) throw lose(there);
    }
    for (;;) {
      const next = await write(leaseFor(epoch, isOver), held.etag);
      if (next !== null) {
        held = next;
        return;
      }
      const there = await readLease(parts);
      const late = there?.lease ?? null;
      // A slow store may have carried out an earlier write of this node after the node's timeout.
      if (there === null || late === null || !unanswered.delete(late.nonce)) throw lose(late);
      held = { lease: late, etag: there.etag, startedMs: held.startedMs };
    }
  };
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  };
  return {
    get lost() {
      return lost;
    },
    setEpoch: (epoch) => inTurn(() => rewrite(epoch)),
    renew: (olderMs) => {
      if (lost !== null) return Promise.reject(lost);
      if (isOver || performance.now() - held.startedMs < olderMs) return Promise.resolve();
      // While the link is down only one renewal waits, not one for each interval.
      renewing ??= inTurn(() => rewrite(held.lease.epoch)).finally(() => {
        renewing = null;
      });
      return renewing;
    },
    giveBack: () => {
      isOver = true;
      return inTurn(() => rewrite(held.lease.epoch)).catch(() => undefined);
    },
  };
}
