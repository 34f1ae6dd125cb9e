import type { RunBacklog } from "./reports.ts";

/**
 * Work that would be lost if a node died now. Bytes: captured and not safe. Time: all training since the newest safe step
 * was written, captured or not; idle time does not count. Training counts as running for three of its checkpoint intervals
 * (at least ten minutes) after its last sign. A sign is a capture, a reported step, or the worker seeing the program run. A
 * program that stopped earlier and left everything safe loses nothing.
 */

export interface Risk {
  bytes: number;
  files: number;
  checkpoints: number;
  /** Training time that would be repeated. */
  lossMs: number;
  /** Steps trained here, captured or not, that are not safe. */
  steps: number;
  oldestUnsafeAt: number | null;
}

export const NO_RISK: Risk = { bytes: 0, files: 0, checkpoints: 0, lossMs: 0, steps: 0, oldestUnsafeAt: null };

const QUIET_INTERVALS = 3;
const MIN_QUIET_MS = 10 * 60_000;

/** Returns the risk of one run at `nowMs` (by the clock that stamped the report). */
export function riskOf(run: RunBacklog, nowMs: number): Risk {
  const lastSign = Math.max(run.localAt ?? run.startedAt, run.trainedAt ?? 0, run.safeAt ?? 0);
  const quietAfter = lastSign + Math.max(MIN_QUIET_MS, QUIET_INTERVALS * (run.intervalMs ?? 0));
  const trainedUntil = nowMs <= quietAfter ? nowMs : lastSign;
  const safeUntil = (run.safeAt ?? run.startedAt) + run.idleMs;
  // A time of writing is no step, so the steps in between are unknown.
  const isByTime = run.isSafeByTime === true || run.isLocalByTime === true;
  const lastStep = isByTime ? 0 : Math.max(run.localStep ?? 0, run.trainedStep ?? 0);
  return {
    bytes: run.unsafeBytes,
    files: run.unsafeFiles,
    checkpoints: run.unsafeCheckpoints,
    lossMs: Math.max(0, trainedUntil - safeUntil),
    steps: Math.max(0, lastStep - (run.safeStep ?? 0)),
    oldestUnsafeAt: run.oldestUnsafeAt,
  };
}

export function addRisks(risks: readonly Risk[]): Risk {
  return risks.reduce(
    (sum, one) => ({
      bytes: sum.bytes + one.bytes,
      files: sum.files + one.files,
      checkpoints: sum.checkpoints + one.checkpoints,
      lossMs: sum.lossMs + one.lossMs,
      steps: sum.steps + one.steps,
      oldestUnsafeAt: minAt(sum.oldestUnsafeAt, one.oldestUnsafeAt),
    }),
    NO_RISK,
  );
}

const minAt = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.min(a, b));

/** The four work states; each has its own shape and color on every page. */
export type WorkState = "safe" | "moving" | "risk" | "lost";

/**
 * Returns the work state. `safe`: nothing captured waits. `moving`: one checkpoint is being uploaded, as expected. `risk`:
 * work accumulates, either with several unsafe checkpoints or because the oldest waits longer than two intervals and two
 * minutes.
 */
export function workStateOf(run: RunBacklog, nowMs: number): Exclude<WorkState, "lost"> {
  if (run.unsafeCheckpoints === 0) return "safe";
  const waitedMs = nowMs - (run.oldestUnsafeAt ?? nowMs);
  if (run.unsafeCheckpoints > 1 && waitedMs > (run.intervalMs ?? 0)) return "risk";
  return waitedMs > Math.max(120_000, 2 * (run.intervalMs ?? 0)) ? "risk" : "moving";
}
