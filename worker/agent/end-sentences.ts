import { sentenceOf } from "#protocol/faults/fault.ts";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { safeSourceOf, type RunBacklog } from "#protocol/wire/reports.ts";
import { riskOf } from "#protocol/wire/risk.ts";
import { formatBytes, formatCount, formatDuration } from "#protocol/base/units.ts";
import type { Capture } from "../capture/capture.ts";

/** Returns a sentence that says how an upload ended. */
export function endSentence(name: string, capture: Capture): string {
  switch (capture.state) {
    case "done": {
      const tookMs = capture.startedAt === null ? null : Date.now() - capture.startedAt;
      return `Safe: ${name}, ${formatBytes(capture.sizeBytes)}${tookMs === null ? "" : ` in ${formatDuration(tookMs)}`}.`;
    }
    case "superseded":
      return `Passed over ${name}: a newer one waits.`;
    case "cancelled":
      return `Upload of ${name} was cancelled.`;
    default:
      return `Upload of ${name} failed. ${capture.fault === null ? "" : sentenceOf(capture.fault)}`;
  }
}

/** Returns a sentence that says what of a run would be lost if the machine were gone now, with its facts for `--json`. */
export function lastWords(run: RunBacklog): [string, { type: string } & Record<string, unknown>] {
  const risk = riskOf(run, Date.now());
  const facts = {
    type: "leaving",
    run: run.run,
    unsafeBytes: risk.bytes,
    unsafeFiles: risk.files,
    safeStep: run.safeStep,
  };
  const safe =
    run.safeStep === null ? "nothing of it is safe yet" : `safe up to ${stepWords(run.safeStep, safeSourceOf(run))}`;
  if (risk.checkpoints === 0) return [`${run.run}: ${safe}; nothing waits.`, facts];
  const waits = `${formatCount(risk.files)} files, ${formatBytes(risk.bytes)} not yet safe`;
  return [`${run.run}: ${safe}; ${waits}. They are kept here and go on at the next start.`, facts];
}
