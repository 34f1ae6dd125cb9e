import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { Fault } from "#protocol/faults/fault.ts";
import { createWakeableSleep } from "../base/wakeable-sleep.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import type { Capture } from "../capture/capture.ts";

/**
 * A capture whose bytes were all sent while the hub was away. It is committed when the hub is back; the next capture need not
 * wait.
 */
export interface Uncommitted {
  item: Capture;
  manifest: Manifest;
  counters: ProgressCounters | null;
  fault: Fault;
}

export interface LateCommits {
  /** Captures that wait for their commit, by id. */
  readonly waiting: ReadonlyMap<string, Uncommitted>;
  keep(late: Uncommitted): void;
  /** Drops a capture that was settled otherwise. Resolves when no commit of it is under way. */
  drop(id: string): Promise<void>;
  wake(): void;
  /** Commits until the signal fires. Faults: those that end this node. */
  run(): Promise<void>;
}

const IDLE_MS = 10_000;

export function createLateCommits(parts: {
  clock: Clock;
  signal: AbortSignal;
  /** Returns null when it is committed, and the fault when the hub is still away. */
  commit(manifest: Manifest): Promise<Fault | null>;
  onSafe(item: Capture): Promise<void>;
  onFailure(item: Capture, error: unknown): Promise<void>;
}): LateCommits {
  const { clock, signal } = parts;
  const waiting = new Map<string, Uncommitted>();
  const wakeable = createWakeableSleep(clock, signal);
  let committing: Promise<void> = Promise.resolve();

  const commitOldest = async (late: Uncommitted) => {
    const { item, manifest } = late;
    try {
      const fault = await parts.commit(manifest);
      if (fault !== null) {
        // Moved to the end of the queue, so that a problem of one run does not block another.
        waiting.delete(item.id);
        waiting.set(item.id, { ...late, fault });
        return;
      }
      await parts.onSafe(item);
      waiting.delete(item.id);
    } catch (error) {
      waiting.delete(item.id);
      await parts.onFailure(item, error);
    }
  };

  return {
    waiting,
    keep: (late) => {
      waiting.set(late.item.id, late);
      wakeable.wake();
    },
    drop: async (id) => {
      if (waiting.has(id)) await committing.catch(() => undefined);
      waiting.delete(id);
    },
    wake: wakeable.wake,
    run: async () => {
      let tries = 0;
      while (!signal.aborted) {
        const [late] = waiting.values();
        if (late === undefined) {
          tries = 0;
          await wakeable.wait(IDLE_MS);
          continue;
        }
        committing = commitOldest(late);
        await committing;
        if (waiting.has(late.item.id)) await wakeable.wait(200 + jitter(clock, tries++));
      }
    },
  };
}
