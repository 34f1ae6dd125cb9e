import { runName } from "../base/names.ts";
import type { RunBacklog } from "../wire/reports.ts";

/** Returns for tests a node's report of a run in which nothing is safe yet and nothing waits. */
export const makeRunBacklog = (changes: Partial<RunBacklog> = {}): RunBacklog => ({
  run: runName.parse("llama"),
  writerEpoch: 1,
  unsafeCheckpoints: 0,
  unsafeFiles: 0,
  unsafeBytes: 0,
  movedBytes: 0,
  oldestUnsafeAt: null,
  safeStep: null,
  safeAt: null,
  safeBytes: 0,
  localStep: null,
  localAt: null,
  startedAt: 0,
  intervalMs: null,
  trainedStep: null,
  trainedAt: null,
  idleMs: 0,
  leastIntervalMs: null,
  ...changes,
});
