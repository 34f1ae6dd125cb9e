import { randomUUID } from "node:crypto";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { NodeName, RunName } from "#protocol/base/names.ts";
import { formatDuration } from "#protocol/base/units.ts";
import { visibleText } from "#protocol/base/visible-text.ts";
import { LEASE_MS, readLeaseText, writerLeaseKey, type WriterLease } from "#protocol/checkpoint/writer-lease.ts";
import type { BucketCalls } from "./bucket-calls.ts";

/** The right to write a run, held by this node in its bucket. */
export interface Lease {
  /** Set once another writer was seen; then nothing is written any more. */
  readonly lost: Fault | null;
  /** The epoch that the lease says. @throws Fault EPOCH_OVER when another writer has it, those of the store */
  setEpoch(epoch: number): Promise<void>;
  /**
   * Writes the lease again where it was last written more than `olderMs` ago: until `LEASE_MS` nobody takes it.
   * @throws Fault EPOCH_OVER when another writer has it, those of the store
   */
  renew(olderMs: number): Promise<void>;
  /** Lets the next writer begin at once, and is not renewed any more. No faults. */
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

interface Found {
  /** Null: what lies there is no lease. */
  lease: WriterLease | null;
  etag: string;
  /** How long its writer may still write, by the store's clock alone; 0: nobody does. */
  leftMs: number;
}

/** Returns what lies there; null where nothing does. Faults: those of the store. */
export async function readLease({
  calls,
  prefix,
  run,
}: Pick<LeaseParts, "calls" | "prefix" | "run">): Promise<Found | null> {
  const found = await calls.read(writerLeaseKey(prefix, run));
  if (found === null) return null;
  // Text that is no lease belongs to nobody, and is overwritten.
  const lease = readLeaseText(found.text);
  // When it was written the store says; a writer whose clock is wrong does not hold a run for longer.
  const writtenAt = found.modifiedAtMs ?? lease?.renewedAt ?? 0;
  const isGivenBack = lease === null || lease.by === "hub" || lease.until <= lease.renewedAt;
  const leftMs = isGivenBack ? 0 : Math.max(0, Math.min(LEASE_MS, writtenAt + LEASE_MS - calls.now()));
  return { lease, etag: found.etag, leftMs };
}

/** Like `readLease`; null also for an object that cannot be read as text. Faults: those of the store. */
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

/** @throws Fault RUN_IN_USE: another node wrote it less than `LEASE_MS` ago */
function assertFree(found: Found | null, { run, node }: LeaseParts): void {
  if (found === null || found.leftMs <= 0 || found.lease?.node.id === node.id) return;
  const detail = `${writerOf(found.lease)} writes it; its lease ends in ${formatDuration(found.leftMs)} unless it is renewed`;
  throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail });
}

/**
 * Takes the lease of a run: where there is none, where the one that lies there has ended, or where it is this node's own.
 * @throws Fault RUN_IN_USE, those of the store
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
  /** Nonces of writes whose answers were not seen: the store may still carry them out. */
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
  // Somebody was faster by a moment.
  if (taken === null) {
    assertFree(await readLease(parts), parts);
    throw new Fault("RUN_IN_USE", { op: "claimEpoch", subject: run, detail: "another node takes it at the same time" });
  }
  let held = taken;
  let lost: Fault | null = null;
  let isOver = false;
  /** One write after the other: each is conditional on the one before. */
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
      // A store that hung carried out an earlier write of this node after the node had given it up.
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
      // While the link is down one waits, not one for each time that it was due.
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
