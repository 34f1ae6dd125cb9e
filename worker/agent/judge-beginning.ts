import type { RunName } from "#protocol/base/names.ts";
import { isTimeStep } from "#protocol/checkpoint/step-words.ts";
import type { Agent } from "./agent-assemble.ts";
import type { Point } from "../lost-work/beginning.ts";
import { tellLoss } from "./report-loss.ts";

type Parts = Pick<Agent, "beginnings" | "training" | "ledger" | "outbox" | "reporter" | "session">;

/**
 * Compares the checkpoint that a program was given with the first step that it says or writes in this life. A lower step shows
 * that it did not continue from there: the hub is told, the steps between are reported as lost, once, and a person is told. A
 * checkpoint by time is not compared. `shown`: the first step that it said, or the step of a checkpoint that it wrote. Faults:
 * NO_SPACE, WRITE_FAILED.
 */
export async function judgeBeginning(
  parts: Parts,
  run: RunName,
  shown: { step: number; by: "word" | "checkpoint" },
): Promise<void> {
  const beginning = parts.beginnings.get(run);
  if (beginning === undefined || beginning.isElsewhere === true) return;
  const { epoch, given, local } = beginning;
  if (isTimeStep(given)) {
    // Still known where a new line branches off.
    beginning.isElsewhere = true;
    return;
  }
  // A program that continues first says the given step or the next one. Its first checkpoint has a later step.
  const wentOn = shown.by === "word" ? shown.step >= given.step : shown.step > given.step;
  if (wentOn) {
    parts.beginnings.delete(run);
    return;
  }
  // Kept, because the first checkpoint that it writes begins a line.
  beginning.isElsewhere = true;
  const from = local.reduce<Point | null>(
    (best, one) =>
      !isTimeStep(one) && one.step <= shown.step && one.step < given.step && one.step > (best?.step ?? -1) ? one : best,
    null,
  );
  const fromStep = from?.step ?? null;
  parts.reporter.beganElsewhere({ run, given: given.step, from: fromStep, path: given.path });
  if (parts.session.knows("branch") === true) {
    const told = { epoch: given.epoch, step: given.step };
    const path = given.path.slice(-1024);
    await parts.outbox.add({ type: "began-elsewhere", run, writerEpoch: epoch, given: told, fromStep, path });
  }
  await tellLoss(parts, { run, epoch, from, last: { step: given.step, at: given.at, isExact: true } });
}

/** Checks the steps that programs have written to their step records so far. Faults: NO_SPACE, WRITE_FAILED. */
export async function judgeWords(parts: Parts): Promise<void> {
  for (const run of parts.beginnings.keys()) {
    const step = parts.training.said(run);
    if (step !== null) await judgeBeginning(parts, run, { step, by: "word" });
  }
}
