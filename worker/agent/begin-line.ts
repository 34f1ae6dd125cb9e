import { isFault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Agent } from "./agent-assemble.ts";
import { judgeBeginning } from "./judge-beginning.ts";
import { isTimeStep } from "../lost-work/beginning.ts";
import type { Candidate } from "../capture/detection/find.ts";
import type { Look } from "../capture/detection/look.ts";

type Parts = Pick<
  Agent,
  "runs" | "ledger" | "beginnings" | "session" | "reporter" | "linesBegun" | "training" | "outbox"
>;

/** Limit of epochs per run: two programs that write one run in turns would open epochs without end. */
const MOST_LINES = 16;

/**
 * Opens a new epoch when a program writes a lower step than the run has reached: training began anew. Earlier checkpoints stay
 * in the bucket. Does nothing when the hub is too old or unreachable; the checkpoint is then captured in the present epoch.
 * Faults: EPOCH_OVER, NO_SPACE, WRITE_FAILED.
 */
export async function beginLine(
  parts: Parts,
  run: RunName,
  { candidate, look }: { candidate: Candidate; look: Look },
): Promise<void> {
  const { runs, session, reporter, linesBegun, beginnings } = parts;
  if (candidate.role !== undefined || candidate.stepFrom === "time" || !session.knows("line")) return;
  const reached = reachedBy(parts, run);
  if (reached === null || candidate.step >= reached.step) return;
  // An older checkpoint that was touched again, or a copy of one, contains files from before.
  const oldestMs = look.files.reduce((oldest, { mtimeMs }) => Math.min(oldest, mtimeMs), Infinity);
  const begun = linesBegun.get(run) ?? 0;
  if (oldestMs <= reached.at || begun >= MOST_LINES) return;
  const beginning = beginnings.get(run);
  // Reported first, because the discarded steps belong to the epoch that the program was given.
  if (beginning !== undefined && look.newestMs >= beginning.startedAt)
    await judgeBeginning(parts, run, { step: candidate.step, by: "checkpoint" });
  try {
    const claim = await runs.beginLine(run);
    linesBegun.set(run, begun + 1);
    beginnings.delete(run);
    reporter.lineBegun({ run, step: candidate.step, after: reached.step, epoch: claim.epoch });
  } catch (error) {
    if (isFault(error) && error.retry !== "never") return reporter.waitingFor(error);
    throw error;
  }
}

/** Returns the highest step of the run in its present epoch, as far as this node knows; null when there is none. */
function reachedBy({ runs, ledger, beginnings }: Parts, run: RunName): { step: number; at: number } | null {
  const epoch = runs.get(run)?.claim?.epoch ?? ledger.writerEpoch(run);
  if (epoch === null) return null;
  const captured = ledger
    .all()
    .filter((one) => one.run === run && one.role === undefined && one.place?.stepFrom !== "time")
    .filter((one) => one.epoch === null || one.epoch === epoch)
    .map(({ step, capturedAt }) => ({ step, at: capturedAt }));
  const safe = ledger.safe(run);
  const given = beginnings.get(run)?.given;
  const all = [...captured, ...(safe?.epoch === epoch ? [safe] : []), ...(given === undefined ? [] : [given])];
  const steps = all.filter((one) => !isTimeStep(one));
  return steps.reduce<{ step: number; at: number } | null>(
    (best, { step, at }) => (best === null || step > best.step ? { step, at } : best),
    null,
  );
}
