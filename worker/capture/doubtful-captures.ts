import type { CheckpointRole } from "#protocol/checkpoint/checkpoint.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Capture } from "./capture.ts";

/** A checkpoint, or final model, that this worker captured although it may be incomplete. */
export interface DoubtfulCapture {
  run: RunName;
  step: number;
  why: string;
  role?: CheckpointRole;
  /** When its program finished writing it, epoch ms. */
  at: number;
}

/** Captures of this worker since its start that may be incomplete. Kept in memory. */
export interface DoubtfulCaptures {
  /** Notes a capture. Does nothing for one without a doubt, or one that is noted. */
  note(capture: Capture): void;
  /** Notes a committed checkpoint that turned out to lack files. Returns false when it was noted before. */
  noteLate(about: { checkpointId: string } & Omit<DoubtfulCapture, "role">): boolean;
  /** Notes a capture that is in the bucket now. */
  noteStored(capture: Capture): void;
  all(): readonly DoubtfulCapture[];
  /** Returns the last checkpoint and the last final model of a run, where it is doubtful and no later whole one is safe. */
  unresolved(run: RunName): readonly DoubtfulCapture[];
}

/**
 * Returns the key of a capture in the record: a final model and a checkpoint of one run are independent of each other.
 */
const kindOf = ({ run, role }: Pick<Capture, "run" | "role">): string => `${run} ${role ?? ""}`;

/** Creates the record. `waiting`: captures of an earlier start that are still in the queue. */
export function createDoubtfulCaptures(waiting: readonly Capture[]): DoubtfulCaptures {
  const noted = new Map<string, DoubtfulCapture>();
  /** When the newest whole one of each kind that is safe was written, and which that is. */
  const whole = new Map<string, { id: string; at: number }>();
  const wholeAtOf = (kind: string): number => whole.get(kind)?.at ?? -1;
  const note = ({ id, run, step, doubt, role, capturedAt: at }: Capture): void => {
    if (doubt === undefined || noted.has(id)) return;
    noted.set(id, { run, step, why: doubt, at, ...(role !== undefined && { role }) });
  };
  for (const item of waiting) note(item);
  return {
    note,
    noteLate: ({ checkpointId, run, step, why, at }) => {
      if (noted.has(checkpointId)) return false;
      const kind = kindOf({ run });
      const known = whole.get(kind);
      noted.set(checkpointId, { run, step, why, at: known?.id === checkpointId ? known.at : at });
      if (known?.id === checkpointId) whole.delete(kind);
      return true;
    },
    noteStored: (item) => {
      note(item);
      const kind = kindOf(item);
      if (item.doubt === undefined && item.capturedAt >= wholeAtOf(kind))
        whole.set(kind, { id: item.id, at: item.capturedAt });
    },
    all: () => [...noted.values()],
    unresolved: (run) => {
      const last = new Map<string, DoubtfulCapture>();
      for (const one of noted.values()) {
        const kind = kindOf({ run, role: one.role });
        if (one.run !== run || one.at <= wholeAtOf(kind)) continue;
        if (one.at >= (last.get(kind)?.at ?? -1)) last.set(kind, one);
      }
      return [...last.values()];
    },
  };
}
