import type { RunName } from "#protocol/base/names.ts";
import { isTimeStep } from "#protocol/checkpoint/step-words.ts";
import type { Agent } from "./agent-assemble.ts";
import type { Given, Point } from "../lost-work/beginning.ts";
import { tellLoss } from "./report-loss.ts";

type Parts = Pick<Agent, "beginnings" | "training" | "ledger" | "outbox" | "reporter" | "session">;

/**
 * Compares the checkpoint that a program was given with the first step that it says or writes in this life. A lower step shows
 * that it did not continue from there: the hub is told, the steps between are reported as lost, once, and a person is told. A
 * checkpoint by time is not compared. `shown`: the first step that it said, or a checkpoint that it wrote: its place tells where the
 * program most likely looks. Faults: NO_SPACE, WRITE_FAILED.
 */
export async function judgeBeginning(
  parts: Parts,
  run: RunName,
  shown: { step: number; by: "word" } | { step: number; by: "checkpoint"; path: string },
): Promise<void> {
  const beginning = parts.beginnings.get(run);
  if (beginning === undefined) return;
  const { epoch, given, local, toldByWord } = beginning;
  const wrote = shown.by === "checkpoint" ? shown.path : null;
  if (toldByWord !== undefined && wrote !== null) {
    delete beginning.toldByWord;
    await tellElsewhere(parts, { run, epoch, given, fromStep: toldByWord.fromStep, wrote, isAgain: true });
  }
  if (beginning.isElsewhere === true) return;
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
  if (wrote === null) beginning.toldByWord = { fromStep };
  await tellElsewhere(parts, { run, epoch, given, fromStep, wrote });
  await tellLoss(parts, { run, epoch, from, last: { step: given.step, at: given.at, isExact: true } });
}

async function tellElsewhere(
  { reporter, session, outbox }: Pick<Parts, "reporter" | "session" | "outbox">,
  about: { run: RunName; epoch: number; given: Given; fromStep: number | null; wrote: string | null; isAgain?: true },
): Promise<void> {
  const { run, epoch, given, fromStep, wrote, isAgain } = about;
  reporter.beganElsewhere({ run, given: given.step, from: fromStep, path: given.path, wrote });
  if (session.knows("branch") !== true) return;
  const told = { epoch: given.epoch, step: given.step };
  const path = given.path.slice(-1024);
  const place = wrote === null ? {} : { wrote: wrote.slice(-1024), ...(isAgain && { isAgain }) };
  await outbox.add({ type: "began-elsewhere", run, writerEpoch: epoch, given: told, fromStep, path, ...place });
}

/** Checks the steps that programs have written to their step records so far. Faults: NO_SPACE, WRITE_FAILED. */
export async function judgeWords(parts: Parts): Promise<void> {
  for (const run of parts.beginnings.keys()) {
    const step = parts.training.said(run);
    if (step !== null) await judgeBeginning(parts, run, { step, by: "word" });
  }
}
