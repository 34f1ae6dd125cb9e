import type { RunName } from "#protocol/base/names.ts";
import type { Agent } from "./agent-assemble.ts";
import type { Point } from "../lost-work/beginning.ts";
import { tellLoss } from "./report-loss.ts";

type Parts = Pick<Agent, "beginnings" | "training" | "ledger" | "outbox" | "narrator">;

/**
 * Compares where a program was to go on with where it really began, by what it says or writes first in this life. When that is
 * below the checkpoint that it was given, it did not go on from it: the steps between are told as lost, once, and so is a
 * person. `shown`: the first step that it said, or the step of a checkpoint that it wrote. Faults: NO_SPACE, WRITE_FAILED.
 */
export async function judgeBeginning(
  parts: Parts,
  run: RunName,
  shown: { step: number; by: "word" | "checkpoint" },
): Promise<void> {
  const beginning = parts.beginnings.get(run);
  if (beginning === undefined) return;
  const { epoch, given, local } = beginning;
  // The first word of a program that goes on is the step it was given, or the next one; it writes a later one first.
  const wentOn = shown.by === "word" ? shown.step >= given.step : shown.step > given.step;
  parts.beginnings.delete(run);
  if (wentOn) return;
  const from = local.reduce<Point | null>(
    (best, one) => (one.step <= shown.step && one.step < given.step && one.step > (best?.step ?? -1) ? one : best),
    null,
  );
  parts.narrator.beganElsewhere({ run, given: given.step, from: from?.step ?? null });
  await tellLoss(parts, { run, epoch, from, last: { ...given, isExact: true } });
}

/** Looks at what programs said in their records so far. Faults: NO_SPACE, WRITE_FAILED. */
export async function judgeWords(parts: Parts): Promise<void> {
  for (const run of parts.beginnings.keys()) {
    const step = parts.training.said(run);
    if (step !== null) await judgeBeginning(parts, run, { step, by: "word" });
  }
}
