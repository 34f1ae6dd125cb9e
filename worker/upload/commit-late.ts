import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { Fault } from "#protocol/faults/fault.ts";
import { createWakeableSleep } from "../base/wakeable-sleep.ts";
import { jitter } from "../base/breaker.ts";
import type { Clock } from "../base/clock.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import type { Capture } from "../capture/capture.ts";

/**
 * A capture whose bytes were all sent and whose commit waits: until the hub is back, or until it is known which files belong to
 * its step. The next capture need not wait.
 */
export interface Uncommitted {
  item: Capture;
  manifest: Manifest;
  counters: ProgressCounters | null;
  /** Null: the hub is there. */
  fault: Fault | null;
}

/** Whether a capture can be committed. `drop`: another capture of the same step has more files. */
export type CommitVerdict = "commit" | "wait" | "drop";

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
/** How often it is looked whether the wait of a capture is over. */
const OPEN_LOOK_MS = 500;

export function createLateCommits(parts: {
  clock: Clock;
  signal: AbortSignal;
  judge(item: Capture): Promise<CommitVerdict>;
  /** Returns null when it is committed, and the fault when the hub is still away. */
  commit(late: Uncommitted): Promise<Fault | null>;
  onDropped(item: Capture): Promise<void>;
  onSafe(item: Capture): Promise<void>;
  onFailure(item: Capture, error: unknown): Promise<void>;
}): LateCommits {
  const { clock, signal } = parts;
  const waiting = new Map<string, Uncommitted>();
  const wakeable = createWakeableSleep(clock, signal);
  let committing: Promise<void> = Promise.resolve();

  const commitOne = async (late: Uncommitted) => {
    const { item } = late;
    try {
      const fault = await parts.commit(late);
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

  /** Returns the first capture that can be committed now, and drops those that another one replaces. */
  const findReady = async (): Promise<Uncommitted | null> => {
    for (const late of waiting.values()) {
      const verdict = await parts.judge(late.item);
      if (verdict === "commit") return late;
      if (verdict === "wait" || !waiting.delete(late.item.id)) continue;
      await parts.onDropped(late.item);
    }
    return null;
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
        const late = await findReady();
        if (late === null) {
          tries = 0;
          await wakeable.wait(waiting.size === 0 ? IDLE_MS : OPEN_LOOK_MS);
          continue;
        }
        committing = commitOne(late);
        await committing;
        if (waiting.has(late.item.id)) await wakeable.wait(200 + jitter(clock, tries++));
      }
    },
  };
}
