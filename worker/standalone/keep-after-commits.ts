import type { KeepsVersions } from "#protocol/base/kept-versions.ts";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import type { RunName } from "#protocol/base/names.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import { Fault, sentenceOf, toFault } from "#protocol/faults/fault.ts";
import type { KeepPolicy } from "#protocol/retention/keeping.ts";
import { systemClock } from "../base/clock.ts";
import { keptVersionsClause } from "#protocol/base/kept-versions.ts";
import { removeOrphans } from "./remove-orphans.ts";
import { keepRun, type KeepParts, type KeptRun } from "./keep-run.ts";

/** Applies `--keep` after commits, in the background, one run at a time. */
export interface RetentionRunner {
  committed(manifest: Pick<Manifest, "run" | "writerEpoch" | "sizeBytes" | "capturedAt">): void;
  /** Resolves when no rules are being applied. Never throws. */
  idle(): Promise<void>;
  /** Waits up to this many ms for the work in progress, then moves and deletes nothing more. Never throws. */
  finish(mostMs: number): Promise<void>;
}

/** Prints a sentence; `fields` are for programs. */
export type Say = (sentence: string, fields: Record<string, unknown> & { type: string }) => void;

interface RetentionRunnerParts extends Omit<KeepParts, "policy" | "facts" | "assertWriter"> {
  /** Null: nothing is removed. */
  policy: KeepPolicy | null;
  /** Checks that this node still writes the run. @throws Fault EPOCH_OVER when another node does, those of the store */
  assertWriter(run: RunName, epoch: number): Promise<void>;
  /** Returns whether the bucket keeps deleted objects as old versions; null when unknown. Never throws. */
  keepsVersions(): Promise<KeepsVersions>;
  say: Say;
}

const DAY_MS = 86_400_000;
/**
 * Least number of commits and least time span of their captures from which the growth of a run is computed: the commits
 * of a backlog come all at once.
 */
const TELLING = 3;
const LEAST_SPAN_MS = 60_000;

export function createRetentionRunner(parts: RetentionRunnerParts): RetentionRunner {
  const { policy } = parts;
  const grown = new Map<RunName, { count: number; bytes: number; sinceMs: number; isTold: boolean }>();
  const withoutMetric = new Set<RunName>();
  const facts: KeepParts["facts"] = new Map();
  const due = new Map<RunName, number>();
  /** Set by the first deletion: only that one is reported as a sentence. */
  let keepsVersions: Promise<KeepsVersions> | null = null;
  const clearedOrphans = new Map<RunName, number>();
  let current: Promise<void> | null = null;
  let isOver = false;

  /** Reports how fast a run grows. `at`: when the checkpoint was captured, epoch ms. */
  const tellGrowth = (run: RunName, { sizeBytes, at }: { sizeBytes: number; at: number }) => {
    const before = grown.get(run);
    if (before === undefined) return void grown.set(run, { count: 1, bytes: 0, sinceMs: at, isTold: false });
    before.count++;
    before.bytes += sizeBytes;
    const spanMs = at - before.sinceMs;
    if (before.isTold || before.count < TELLING || spanMs < LEAST_SPAN_MS) return;
    before.isTold = true;
    const perDay = (before.bytes / spanMs) * DAY_MS;
    const sentence = `Checkpoints of ${run} grow by about ${formatBytes(perDay)} a day, and nothing is removed; --keep last=3 would keep the newest 3.`;
    parts.say(sentence, { type: "growth", run, bytesPerDay: Math.round(perDay) });
  };

  const assertWriter = async (run: RunName, epoch: number) => {
    if (isOver) throw new Fault("CANCELLED", { op: "--keep", subject: run });
    await parts.assertWriter(run, epoch);
  };
  const applyAll = async (rules: KeepPolicy) => {
    try {
      await applyDue(rules);
    } finally {
      // Reset in the same tick in which nothing was due any more, so that a later commit starts a new pass.
      current = null;
    }
  };
  const applyDue = async (rules: KeepPolicy) => {
    for (const [run, epoch] of due) {
      due.delete(run);
      const keeping = { ...parts, policy: rules, facts, assertWriter: () => assertWriter(run, epoch) };
      try {
        const kept = await keepRun(keeping, run);
        tellKept(parts, { run, policy: rules }, kept);
        if (kept.deleted.length > 0) {
          const isFirst = keepsVersions === null;
          keepsVersions ??= parts.keepsVersions();
          const keeps = await keepsVersions;
          const sentence = `Deleted ${stepsOf(run, kept.deleted)}, by --keep${isFirst ? keptVersionsClause(keeps) : ""}.`;
          parts.say(sentence, { type: "deleted", run, steps: kept.deleted, keepsVersions: keeps });
        }
        if (kept.isMetricUnknown && !withoutMetric.has(run)) {
          withoutMetric.add(run);
          const { metric = "" } = rules.best ?? {};
          const sentence = `--keep removes nothing of ${run} yet: none of its checkpoints has the metric ${metric}.`;
          parts.say(sentence, { type: "note", sentence });
        }
        await clearOrphans(keeping, run);
      } catch (error) {
        const fault = toFault(error, { op: "--keep" }).toData();
        // The next commit tries again. A run that another node took over must not be cleaned up by this one.
        if (fault.code !== "CANCELLED" && fault.code !== "EPOCH_OVER")
          parts.say(`--keep was not applied to ${run}: ${sentenceOf(fault)}`, { type: "trouble", fault });
      }
    }
  };

  /** Removes orphaned objects once a day, because an orphan is deleted only after a day. */
  const clearOrphans = async (keeping: Parameters<typeof removeOrphans>[0], run: RunName) => {
    const clearedAt = clearedOrphans.get(run);
    if (clearedAt !== undefined && performance.now() - clearedAt < DAY_MS) return;
    clearedOrphans.set(run, performance.now());
    const { count, bytes } = await removeOrphans(keeping, run);
    if (count === 0) return;
    const objects = count === 1 ? "1 object" : `${formatCount(count)} objects`;
    const sentence = `Deleted ${objects} of uploads of ${run} that were never finished, by --keep: ${formatBytes(bytes)}.`;
    parts.say(sentence, { type: "orphans-deleted", run, count, bytes });
  };

  return {
    committed: ({ run, writerEpoch, sizeBytes, capturedAt: at }) => {
      if (policy === null) return tellGrowth(run, { sizeBytes, at });
      due.set(run, writerEpoch);
      current ??= applyAll(policy);
    },
    idle: async () => {
      await current;
    },
    finish: async (mostMs) => {
      const over = new AbortController();
      const late = systemClock.sleep(mostMs, over.signal).catch(() => undefined);
      await Promise.race([current, late]);
      over.abort();
      isOver = true;
    },
  };
}

const stepsOf = (run: RunName, steps: readonly number[]): string =>
  `step${steps.length === 1 ? "" : "s"} ${steps.map(formatCount).join(", ")} of ${run}`;

function tellKept(
  parts: Pick<RetentionRunnerParts, "say">,
  { run, policy }: { run: RunName; policy: KeepPolicy },
  kept: KeptRun,
): void {
  const { trashed, trashedBytes } = kept;
  if (trashed.length > 0) {
    const sentence = `Moved ${stepsOf(run, trashed)} to the trash, by --keep: ${formatBytes(trashedBytes)}, deleted in ${formatDuration(policy.trashMs)}.`;
    parts.say(sentence, { type: "trashed", run, steps: trashed, bytes: trashedBytes });
  }
}
