import { doubtfulWords, type DoubtfulPoint } from "#protocol/checkpoint/continue-words.ts";
import { sentenceOf } from "#protocol/faults/fault.ts";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import { riskOf } from "#protocol/wire/risk.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import type { Capture } from "../capture/capture.ts";

/** Returns a sentence that says how an upload ended. */
export function endSentence(name: string, capture: Capture): string {
  switch (capture.state) {
    case "done": {
      const tookMs = capture.startedAt === null ? null : Date.now() - capture.startedAt;
      const lead = capture.doubt === undefined ? "Safe" : "Kept as doubtful";
      return `${lead}: ${name}, ${formatBytes(capture.sizeBytes)}${tookMs === null ? "" : ` in ${formatDuration(tookMs)}`}.`;
    }
    case "superseded":
      return `Passed over ${name}: a newer one waits.`;
    case "cancelled":
      return `Upload of ${name} was cancelled.`;
    default:
      return `Upload of ${name} failed. ${capture.fault === null ? "" : sentenceOf(capture.fault)}`;
  }
}

/**
 * Returns a sentence that says what of a run would be lost if the machine were gone now, with its facts for `--json`.
 * `doubtful`: the last captures of the run, where they may be incomplete.
 */
export function lastWords(
  run: RunBacklog,
  doubtful: readonly DoubtfulPoint[] = [],
): [string, { type: string } & Record<string, unknown>] {
  const risk = riskOf(run, Date.now());
  const facts = {
    type: "leaving",
    run: run.run,
    unsafeBytes: risk.bytes,
    unsafeFiles: risk.files,
    safeStep: run.safeStep,
    ...(doubtful.length > 0 && { doubtful: doubtful.map(({ step, why, role = null }) => ({ step, why, role })) }),
  };
  const also = doubtful.map((one) => ` ${doubtfulWords(run.run, one)}`).join("");
  const safe = run.safeStep === null ? "nothing of it is safe yet" : `safe up to step ${formatCount(run.safeStep)}`;
  if (risk.checkpoints === 0) return [`${run.run}: ${safe}; nothing waits.${also}`, facts];
  const waits = `${formatCount(risk.files)} files, ${formatBytes(risk.bytes)} not yet safe`;
  return [`${run.run}: ${safe}; ${waits}. They are kept here and go on at the next start.${also}`, facts];
}
