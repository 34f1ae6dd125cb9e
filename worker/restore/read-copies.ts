import { isFault, toFault, type Fault } from "#protocol/faults/fault.ts";
import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import type { CopyOffer } from "#protocol/wire/homes.ts";
import type { NodeStore } from "#protocol/wire/hello.ts";
import type { Engine } from "../transfer/engine.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import type { Memory } from "../limits/learned.ts";
import { isFatal } from "../hub-link/stream.ts";
import type { ReadFrom } from "../job-runner/tell-end.ts";
import { readCheckpoint } from "./read-checkpoint.ts";
import { restore } from "./restore.ts";
import type { RestoreJob } from "./restore-job.ts";
import { whyStuck } from "../upload/homes.ts";

/**
 * Restores from the fastest sound copy. The rates that this machine has learned of its own links count before those that the
 * hub expects. When a copy is damaged, or its bucket cannot be reached, the restore continues with the next one in the same
 * staging folder. At the last copy the restore waits, as at any bucket.
 */
export interface ReadParts {
  engineAt(store: NodeStore): Engine;
  memory: Pick<Memory, "recall">;
}

const LOOK_MS = 250;

const inOrder = ({ memory }: ReadParts, offers: readonly CopyOffer[]): CopyOffer[] => {
  const rateOf = ({ store: { endpoint, bucket }, bytesPerSecond }: CopyOffer): number =>
    memory.recall({ endpoint, bucket, direction: "down" })?.bytesPerSecond ?? bytesPerSecond ?? -1;
  const known = offers.every(({ store: { endpoint, bucket } }) =>
    memory.recall({ endpoint, bucket, direction: "down" }),
  );
  // A learned rate of one bucket alone does not show which of two is faster.
  if (!known) return [...offers];
  return offers.toSorted((a, b) => Number(a.isDamaged) - Number(b.isDamaged) || rateOf(b) - rateOf(a));
};

/** Restores from one of the copies. Faults: those of `restore`, of the last copy that was tried. */
export async function restoreFromCopies(engine: Engine, parts: ReadParts, job: RestoreJob): Promise<ReadFrom> {
  const { command, hub, signal } = job;
  const { clock } = engine.retrier;
  const { manifest, copies, archived } = await readCheckpoint(clock, { hub, signal, command, withArchived: true });
  const damagedCopies: ReadFrom["damagedCopies"] = [];
  const offers = inOrder(parts, copies);
  for (const [index, { store }] of offers.entries()) {
    const isLast = index === offers.length - 1;
    const { profileId } = store;
    const own = parts.engineAt(store);
    const away = new AbortController();
    const seen: { counters: ProgressCounters | null; damage: DamageReport | null } = { counters: null, damage: null };
    const startedAt = clock.now();
    const timer = setInterval(() => {
      const fault = isLast ? null : whyStuck(own, { counters: seen.counters, sinceMs: clock.now() - startedAt });
      if (fault !== null) away.abort(fault);
    }, LOOK_MS);
    try {
      await restore(own, {
        ...job,
        profileId,
        // The manifest of one copy does not apply to another.
        ...(profileId === manifest.homes[0]?.profileId && { manifest, archived }),
        signal: AbortSignal.any([signal, away.signal]),
        onStart: (made) => {
          seen.counters = made;
          job.onStart(made);
        },
        onDamage: (damage) => {
          seen.damage ??= damage;
          if (isLast) job.onDamage?.(damage);
        },
      });
      return { profileId: offers.length > 1 ? profileId : null, damagedCopies };
    } catch (error) {
      const fault = toFault(error);
      if (isLast || signal.aborted || isFatal(fault)) throw error;
      if (seen.damage !== null) damagedCopies.push({ profileId, damage: seen.damage });
      else if (!away.signal.aborted && fault.retry === "never" && !isElsewhere(fault)) throw error;
    } finally {
      clearInterval(timer);
    }
  }
  // An older hub names no copies.
  await restore(engine, { ...job, manifest, archived });
  return { profileId: null, damagedCopies };
}

/** Returns whether another copy may exist where this one does not. */
const isElsewhere = (fault: Fault): boolean =>
  isFault(fault) &&
  [
    "NO_SUCH_KEY",
    "NO_SUCH_BUCKET",
    "ACCESS_DENIED",
    "CREDENTIALS_EXPIRED",
    "OBJECT_CHANGED",
    "OBJECT_ARCHIVED",
    "OBJECT_BEING_RESTORED",
  ].includes(fault.code);
