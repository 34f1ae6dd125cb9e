import { doubtfulWords, openPiecesWords, type DoubtfulPoint } from "#protocol/checkpoint/continue-words.ts";
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
      const { piece } = capture;
      if (piece !== undefined)
        return `Kept: the piece of node ${piece.rank} of ${piece.of} of ${name}, ${formatBytes(capture.sizeBytes)}. The step is safe when the pieces of all nodes are there.`;
      const lead = capture.doubt === undefined ? "Safe" : "Kept as doubtful";
      return `${lead}: ${name}, ${formatBytes(capture.sizeBytes)}${tookMs === null ? "" : ` in ${formatDuration(tookMs)}`}.`;
    }
    case "superseded":
      if (capture.fault !== null) return `Gave up ${name}. ${sentenceOf(capture.fault)}`;
      return `Passed over ${name}: a newer one waits.`;
    case "cancelled":
      return `Upload of ${name} was cancelled.`;
    default:
      return `Upload of ${name} failed. ${capture.fault === null ? "" : sentenceOf(capture.fault)}`;
  }
}

/** Checkpoints of a run that are in the bucket and not safe. */
export interface LastOfRun {
  /** The last captures of the run, where they may be incomplete. */
  doubtful: readonly DoubtfulPoint[];
  /** The last piece of this node, where its step waits for other nodes. */
  piece: { step: number; sizeBytes: number; files: number } | null;
}

/** Returns a sentence about what would be lost of a run if the machine were gone now, with its facts for `--json`. */
export function lastWords(
  run: RunBacklog,
  { doubtful, piece }: LastOfRun,
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
  const open =
    piece === null
      ? ""
      : ` ${openPiecesWords(run.run, { step: piece.step, why: "the pieces of all nodes are not known to be there" })}`;
  const also = open + doubtful.map((one) => ` ${doubtfulWords(run.run, one)}`).join("");
  const safe =
    run.safeStep === null ? "nothing of it is safe yet" : `safe up to ${stepWords(run.safeStep, safeSourceOf(run))}`;
  // A piece in the bucket counts as not safe, and is not kept here.
  const isPieceAlone = piece !== null && risk.checkpoints === 1;
  if (risk.checkpoints === 0 || isPieceAlone) return [`${run.run}: ${safe}; nothing waits.${also}`, facts];
  const files = risk.files - (piece?.files ?? 0);
  const waits = `${formatCount(files)} files, ${formatBytes(risk.bytes - (piece?.sizeBytes ?? 0))} not yet safe`;
  return [`${run.run}: ${safe}; ${waits}. They are kept here and go on at the next start.${also}`, facts];
}
