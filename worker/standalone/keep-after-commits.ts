import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { RunName } from "#protocol/base/names.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import { sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { KeepPolicy } from "#protocol/retention/keeping.ts";
import { keepRun, type KeepParts, type KeptRun } from "./keep-run.ts";

/** Applies `--keep` after commits, in the background, one run at a time. */
export interface RetentionRunner {
  committed(manifest: Pick<Manifest, "run" | "writerEpoch" | "sizeBytes">): void;
  /** Resolves when nothing is being applied. No faults. */
  idle(): Promise<void>;
}

/** Prints a sentence, with its fields for programs. */
export type Say = (sentence: string, fields: Record<string, unknown> & { type: string }) => void;

interface RetentionRunnerParts extends Omit<KeepParts, "policy" | "facts" | "assertWriter"> {
  /** Null: nothing is removed. */
  policy: KeepPolicy | null;
  /** @throws Fault EPOCH_OVER when another node writes the run, those of the store */
  assertWriter(run: RunName, epoch: number): Promise<void>;
  say: Say;
}

const DAY_MS = 86_400_000;
/** Commits from which the growth of a run is told. */
const TELLING = 3;

export function createRetentionRunner(parts: RetentionRunnerParts): RetentionRunner {
  const { policy } = parts;
  const grown = new Map<RunName, { count: number; bytes: number; sinceMs: number }>();
  const facts: KeepParts["facts"] = new Map();
  const due = new Map<RunName, number>();
  let current: Promise<void> | null = null;

  const tellGrowth = (run: RunName, sizeBytes: number) => {
    const before = grown.get(run);
    if (before === undefined) return void grown.set(run, { count: 1, bytes: 0, sinceMs: parts.calls.now() });
    before.count++;
    before.bytes += sizeBytes;
    if (before.count !== TELLING) return;
    const perDay = (before.bytes / Math.max(1, parts.calls.now() - before.sinceMs)) * DAY_MS;
    const sentence = `Checkpoints of ${run} grow by about ${formatBytes(perDay)} a day, and nothing is removed; --keep last=3 would keep the newest 3.`;
    parts.say(sentence, { type: "growth", run, bytesPerDay: Math.round(perDay) });
  };

  const applyAll = async (rules: KeepPolicy) => {
    for (const [run, epoch] of due) {
      due.delete(run);
      const keeping = { ...parts, policy: rules, facts, assertWriter: () => parts.assertWriter(run, epoch) };
      try {
        tellKept(parts, { run, policy: rules }, await keepRun(keeping, run));
      } catch (error) {
        const fault = toFault(error, { op: "--keep" }).toData();
        // The next commit tries again, and a run that another node took over is not ours to clear.
        if (fault.code !== "CANCELLED" && fault.code !== "EPOCH_OVER")
          parts.say(`--keep was not applied to ${run}: ${sentenceOf(fault)}`, { type: "trouble", fault });
      }
    }
  };

  return {
    committed: ({ run, writerEpoch, sizeBytes }) => {
      if (policy === null) return tellGrowth(run, sizeBytes);
      due.set(run, writerEpoch);
      current ??= applyAll(policy).finally(() => {
        current = null;
      });
    },
    idle: async () => {
      await current;
    },
  };
}

function tellKept(
  parts: Pick<RetentionRunnerParts, "say">,
  { run, policy }: { run: RunName; policy: KeepPolicy },
  kept: KeptRun,
): void {
  const steps = (all: readonly number[]) =>
    `step${all.length === 1 ? "" : "s"} ${all.map(formatCount).join(", ")} of ${run}`;
  const { trashed, trashedBytes, deleted } = kept;
  if (trashed.length > 0) {
    const sentence = `Moved ${steps(trashed)} to the trash, by --keep: ${formatBytes(trashedBytes)}, deleted in ${formatDuration(policy.trashMs)}.`;
    parts.say(sentence, { type: "trashed", run, steps: trashed, bytes: trashedBytes });
  }
  if (deleted.length > 0) parts.say(`Deleted ${steps(deleted)}, by --keep.`, { type: "deleted", run, steps: deleted });
}
