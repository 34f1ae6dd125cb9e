import type { RunName } from "#protocol/base/names.ts";
import type { Agent } from "./agent-assemble.ts";
import { readLocalCheckpoints } from "./local-checkpoints.ts";
import type { Point } from "../lost-work/beginning.ts";
import { beginningOf, resumedAt, tellLoss } from "./report-loss.ts";

type Parts = Pick<
  Agent,
  "options" | "watchedSince" | "preparesRuns" | "training" | "runs" | "ledger" | "outbox" | "reporter"
>;

/**
 * Reports once what the last interruption cost, when a program starts and says `step` first. The program continued from the
 * newest checkpoint at or below that step. A program that had saved all its work and goes back on purpose lost nothing. Does
 * nothing under `tidemark run`, which prepares the run and reports the loss itself. Faults: READ_FAILED, NO_SPACE,
 * WRITE_FAILED.
 */
export async function beginAgain(agent: Parts, { run, step }: { run: RunName; step: number }): Promise<void> {
  const { training, runs, ledger, reporter, preparesRuns } = agent;
  if (preparesRuns) return;
  const claim = runs.get(run)?.claim ?? null;
  const epoch = claim?.epoch ?? ledger.writerEpoch(run);
  // Read before the first await: the program writes its steps from now on.
  const last = training.of(run, epoch) ?? (claim === null ? null : beginningOf(claim));
  const at = Date.now();
  try {
    training.note(run, { step, at, epoch });
  } catch (error) {
    reporter.waitingFor(error);
  }
  if (epoch === null) return;
  const { kept, safeStep } = await readKept(agent, run);
  const from = kept.reduce<Point | null>(
    (best, one) => (one.step <= step && one.step > (best?.step ?? -1) ? one : best),
    null,
  );
  const hadSavedAll = last !== null && kept.some((one) => one.step === last.step);
  if (!hadSavedAll) await tellLoss(agent, { run, epoch, from, last });
  const resumed = resumedAt(at, from, safeStep);
  training.note(run, { ...(training.of(run, epoch) ?? { step, at, epoch }), resumed });
}

/** Returns the points from which a program could continue: safe ones, and those on this disk that are not torn. */
async function readKept(
  { options, ledger, runs, watchedSince }: Parts,
  run: RunName,
): Promise<{ kept: Point[]; safeStep: number }> {
  const newest = runs.get(run)?.claim?.newest ?? null;
  const safe = [ledger.safe(run), newest === null ? null : { step: newest.step, at: newest.capturedAt }].filter(
    (one) => one !== null,
  );
  const here: Point[] = [];
  for (const watch of options.watches.filter((one) => one.run === run)) {
    for (const { step, state, writtenAt: at } of await readLocalCheckpoints(watch, {
      knows: ledger.knows,
      isRestored: ledger.isRestored,
      isUnfinished: ledger.isUnfinished,
      watchedSince: watchedSince.get(run) ?? 0,
    })) {
      if (state !== "torn") here.push({ step, at });
    }
  }
  return { kept: [...safe, ...here], safeStep: Math.max(-1, ...safe.map((one) => one.step)) };
}
