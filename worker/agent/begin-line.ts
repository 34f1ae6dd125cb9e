import { isFault } from "#protocol/faults/fault.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { isTimeStep, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Agent } from "./agent-assemble.ts";
import { judgeBeginning } from "./judge-beginning.ts";
import type { WatchedRoot } from "#protocol/checkpoint/place.ts";
import type { Watch } from "../capture/watch.ts";
import type { Beginning, Point } from "../lost-work/beginning.ts";
import type { Candidate } from "../capture/detection/find.ts";
import type { Look } from "../capture/detection/look.ts";

type Parts = Pick<
  Agent,
  "options" | "runs" | "ledger" | "beginnings" | "session" | "reporter" | "linesBegun" | "training" | "outbox"
>;

/** Limit of epochs per run: two programs that write one run in turns would open epochs without end. */
const MOST_LINES = 16;

/**
 * Opens a new epoch when a program writes a lower step than the run has reached: training began anew. Earlier checkpoints stay
 * in the bucket. A step also begins a line when its program was given a time of writing, which no step exceeds. In a group of
 * nodes the first to write opens the epoch, and the others join it. Does nothing when the hub is too old or unreachable; the
 * checkpoint is then captured in the present epoch. Faults: EPOCH_OVER, NO_SPACE, WRITE_FAILED.
 */
export async function beginLine(
  parts: Parts,
  { run, root }: Pick<Watch, "run" | "root">,
  { candidate, look }: { candidate: Candidate; look: Look },
): Promise<void> {
  const { options, runs, session, reporter, linesBegun, beginnings } = parts;
  const { step, stepFrom } = candidate;
  if (candidate.role !== undefined || stepFrom === "time") return;
  if (session.knows(options.group === null ? "line" : "branch") !== true) return;
  const epoch = runs.get(run)?.claim?.epoch ?? parts.ledger.writerEpoch(run);
  if (epoch === null) return;
  const inRoot = root?.index ?? 0;
  const known = beginnings.get(run);
  const beginning = (known?.root ?? 0) === inRoot ? known : undefined;
  const after = reachedBefore(parts, { run, epoch, step, inRoot, beginning });
  if (after === null) return;
  // An older checkpoint that was touched again, or a copy of one, contains files from before.
  const oldestMs = look.files.reduce((oldest, { mtimeMs }) => Math.min(oldest, mtimeMs), Infinity);
  const begun = linesBegun.get(run) ?? 0;
  if (oldestMs <= after.at || begun >= MOST_LINES) return;
  // Reported first, because the discarded steps belong to the epoch that the program was given.
  if (beginning !== undefined && look.newestMs >= beginning.startedAt)
    await judgeBeginning(parts, run, { step, by: "checkpoint", path: candidate.path });
  const given = beginning?.given;
  const branch: LineBranch = {
    from: given === undefined ? null : { epoch: given.epoch, step: given.step, ...byTime(given) },
    after: { epoch, step: after.step, ...byTime(after) },
    step,
  };
  // Captures from before the hub could be asked belong to the line that ends.
  for (const item of parts.ledger.all())
    if (item.run === run && item.epoch === null) await parts.ledger.update(item.id, { epoch });
  try {
    const claim = await runs.beginLine(run, branch);
    linesBegun.set(run, begun + 1);
    beginnings.delete(run);
    reporter.lineBegun({ run, epoch: claim.epoch, branch });
  } catch (error) {
    if (isFault(error) && error.retry !== "never") return reporter.waitingFor(error);
    throw error;
  }
}

interface Wanted {
  run: RunName;
  epoch: number;
  /** Number of the watched folder of the run: each has a sequence of steps of its own. */
  inRoot: number;
  beginning: Beginning | undefined;
}

const byTime = (point: Point): { isByTime?: true } => (isTimeStep(point) ? { isByTime: true } : {});

/**
 * Returns the point of the present epoch before which a step begins a new line, as far as this node knows it: the highest step,
 * or the time of writing that the program was given when no step is known. Null: the step goes on.
 */
function reachedBefore(parts: Pick<Parts, "runs" | "ledger">, about: Wanted & { step: number }): Point | null {
  const { step, beginning } = about;
  const points = pointsOf(parts, about);
  const highest = (all: readonly Point[]) =>
    all.reduce<Point | null>((best, one) => (best === null || one.step > best.step ? one : best), null);
  const counted = highest(points.filter((one) => !isTimeStep(one)));
  if (counted !== null) return step < counted.step ? counted : null;
  const time = highest(points);
  // A program that writes both keeps one line: only what lay there before it started is an earlier line.
  return beginning !== undefined && time !== null && time.at < beginning.startedAt ? time : null;
}

/** Returns the checkpoints of the present epoch that this node knows, and the one that its program was given. */
function pointsOf({ runs, ledger }: Pick<Parts, "runs" | "ledger">, about: Wanted): Point[] {
  const { run, epoch, inRoot, beginning } = about;
  const isIn = (place: { root?: WatchedRoot | undefined } | undefined) => (place?.root?.index ?? 0) === inRoot;
  const captured = ledger
    .all()
    .filter((one) => one.run === run && one.role === undefined && isIn(one.place))
    .filter((one) => one.epoch === null || one.epoch === epoch)
    .map(({ step, capturedAt, place }) => ({ step, at: capturedAt, source: stepSourceOf(place) }));
  const safe = ledger.safe(run);
  const piece = ledger.piece(run);
  const newest = runs.get(run)?.claim?.newest ?? null;
  const given = beginning?.given;
  return [
    ...captured,
    ...(safe?.epoch === epoch && isIn(safe.place) ? [safe] : []),
    ...(piece !== null && isIn(piece.place) ? [piece] : []),
    // The piece of one node becomes no safe point before the hub has joined it with those of the others.
    ...(newest?.writerEpoch === epoch && isIn(newest.place)
      ? [{ step: newest.step, at: newest.capturedAt, source: stepSourceOf(newest.place) }]
      : []),
    ...ledger.reached({ run, root: inRoot, epoch }),
    ...(given === undefined ? [] : [given]),
  ];
}
