import { randomUUID } from "node:crypto";
import { Fault } from "#protocol/faults/fault.ts";
import type { NodeName, RunName } from "#protocol/base/names.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { LEASE_MS, writerLease, writerLeaseKey, type WriterLease } from "#protocol/checkpoint/writer-lease.ts";
import type { BucketCalls } from "./bucket-calls.ts";

/** The right to write a run, held by this node in its bucket. */
export interface Lease {
  /** Whether another writer was seen since; then nothing is written any more. */
  readonly lost: Fault | null;
  /** The epoch that the lease says. @throws Fault EPOCH_OVER when another writer has it, those of the store */
  setEpoch(epoch: number): Promise<void>;
  /** Writes the lease again for another `LEASE_MS`. @throws Fault EPOCH_OVER when another writer has it, those of the store */
  renew(): Promise<void>;
  /** Lets the next writer begin at once. No faults. */
  giveBack(): Promise<void>;
}

export interface LeaseParts {
  calls: BucketCalls;
  prefix: string;
  run: RunName;
  node: { id: string; name: NodeName };
  /** The store keeps to conditions; without them the later write counts, and epochs keep attempts apart. */
  isConditional: boolean;
}

interface Held {
  lease: WriterLease;
  etag: string;
}

/** Returns what lies there; null where nothing does, or what is no lease. Faults: those of the store. */
async function readLease({
  calls,
  prefix,
  run,
}: LeaseParts): Promise<{ lease: WriterLease | null; etag: string } | null> {
  const found = await calls.read(writerLeaseKey(prefix, run));
  if (found === null) return null;
  let lease: WriterLease | null = null;
  try {
    lease = writerLease.safeParse(JSON.parse(found.text)).data ?? null;
  } catch {
    // Whatever it is, it is nobody's lease, and is written over.
  }
  return { lease, etag: found.etag };
}

const overBy = (run: string, lease: WriterLease | null): Fault => {
  const who = lease === null ? "somebody" : lease.by === "hub" ? "a hub" : visibleText(lease.node.name);
  return new Fault("EPOCH_OVER", { op: "writer", subject: run, detail: `${who} writes it now` });
};

/** @throws Fault RUN_IN_USE: another node wrote it less than `LEASE_MS` ago */
function assertFree(lease: WriterLease | null, { run, node, calls }: LeaseParts): void {
  if (lease === null || lease.node.id === node.id) return;
  const leftMs = lease.until - calls.now();
  if (leftMs <= 0) return;
  const who = lease.by === "hub" ? "a hub" : visibleText(lease.node.name);
  const detail = `${who} writes it; its lease ends in ${formatDuration(leftMs)} unless it is renewed`;
  throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail });
}

/**
 * Takes the lease of a run: where there is none, where the one that lies there has ended, or where it is this node's own.
 * @throws Fault RUN_IN_USE, those of the store
 */
export async function takeLease(parts: LeaseParts, epoch: number): Promise<Lease> {
  const { calls, prefix, run, node, isConditional } = parts;
  const key = writerLeaseKey(prefix, run);
  const textOf = (lease: WriterLease) => JSON.stringify(lease);
  const leaseFor = (wanted: number, until: number): WriterLease => ({
    format: "tidemark.writer",
    version: 1,
    run,
    epoch: wanted,
    node,
    by: "node",
    renewedAt: calls.now(),
    until,
    nonce: randomUUID(),
  });
  const write = async (lease: WriterLease, over: string | null): Promise<Held | null> => {
    const condition = over === null ? ({ kind: "absent" } as const) : ({ kind: "version", etag: over } as const);
    const etag = await calls.write(key, textOf(lease), isConditional ? condition : undefined);
    return etag === null ? null : { lease, etag };
  };
  const before = await readLease(parts);
  assertFree(before?.lease ?? null, parts);
  const taken = await write(leaseFor(epoch, calls.now() + LEASE_MS), before?.etag ?? null);
  // Somebody was faster by a moment.
  if (taken === null) {
    const other = await readLease(parts);
    assertFree(other?.lease ?? null, parts);
    throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail: "another node takes it at the same time" });
  }
  let held = taken;
  let lost: Fault | null = null;
  /** One write after the other: each is conditional on the one before. */
  let queue: Promise<unknown> = Promise.resolve();
  const lose = (by: WriterLease | null): Fault => (lost ??= overBy(run, by));
  const rewrite = async (wanted: number, until: () => number): Promise<void> => {
    if (lost !== null) throw lost;
    if (!isConditional) {
      const now = await readLease(parts);
      if (now?.lease != null && now.lease.node.id !== node.id && now.lease.epoch > held.lease.epoch)
        throw lose(now.lease);
    }
    const next = await write(leaseFor(wanted, until()), held.etag);
    if (next === null) throw lose((await readLease(parts))?.lease ?? null);
    held = next;
  };
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = queue.then(work);
    queue = done.catch(() => undefined);
    return done;
  };
  const forLong = () => calls.now() + LEASE_MS;
  return {
    get lost() {
      return lost;
    },
    setEpoch: (wanted) => inTurn(() => rewrite(wanted, forLong)),
    renew: () => inTurn(() => rewrite(held.lease.epoch, forLong)),
    giveBack: () => inTurn(() => rewrite(held.lease.epoch, calls.now)).catch(() => undefined),
  };
}
