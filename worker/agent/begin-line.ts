import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import { isFatal } from "../hub-link/stream.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { UnopenedLine } from "#protocol/checkpoint/line-branch.ts";
import { readFileName } from "#protocol/recognition/checkpoint-file-names.ts";
import { isTimeStep, stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import type { RunName } from "#protocol/base/names.ts";
import { systemClock } from "../base/clock.ts";
import type { Agent } from "./agent-assemble.ts";
import { judgeBeginning } from "./judge-beginning.ts";
import { openLine } from "./open-lines.ts";
import type { WatchedRoot } from "#protocol/checkpoint/place.ts";
import { isOfOneUnopened } from "../capture/ledger.ts";
import type { Watch } from "../capture/watch.ts";
import type { Beginning, Point } from "../lost-work/beginning.ts";
import type { Candidate } from "../capture/detection/find.ts";
import type { Look } from "../capture/detection/look.ts";

type Parts = Pick<
  Agent,
  | "hub"
  | "options"
  | "runs"
  | "ledger"
  | "beginnings"
  | "session"
  | "reporter"
  | "linesBegun"
  | "openedLines"
  | "openLines"
  | "training"
  | "outbox"
>;

/** Limit of epochs per run: two programs that write one run in turns would open epochs without end. */
const MOST_LINES = 16;

/**
 * Opens a new epoch when a program writes a lower step than the run has reached: training began anew. Earlier checkpoints stay
 * in the bucket. No counted step exceeds a number that was read from a time of writing. So if the program was given a checkpoint with
 * such a number, its first counted step begins a new line. In a group of
 * nodes the first to write opens the epoch, and the others join it. Does nothing when the hub is too old. Returns the line that the
 * checkpoint belongs to while the hub cannot be asked to open it (`openLines`); null: it belongs to the present epoch.
 * Faults: EPOCH_OVER, NO_SPACE, WRITE_FAILED.
 */
export async function beginLine(
  parts: Parts,
  { run, root }: Pick<Watch, "run" | "root">,
  { candidate, look }: { candidate: Candidate; look: Look },
): Promise<UnopenedLine | null> {
  const { options, hub, runs, session, reporter, beginnings } = parts;
  const { step, stepFrom } = candidate;
  // A hub that has said nothing yet most likely knows lines.
  if (session.knows(options.group === null ? "line" : "branch") === false) return null;
  const inRoot = root?.index ?? 0;
  const unopened = await unopenedOf(parts, { run, inRoot });
  // A final model belongs to the line of the checkpoints before it.
  if (candidate.role !== undefined) return unopened;
  const epoch = runs.get(run)?.claim?.epoch ?? parts.ledger.writerEpoch(run);
  const known = beginnings.get(run);
  // After a line that was opened late, what the program was given before it no longer counts.
  const isPresent = known !== undefined && (known.root ?? 0) === inRoot && known.epoch >= (epoch ?? 0);
  const beginning = unopened === null && isPresent ? known : undefined;
  const after = stepFrom === "time" ? null : reachedBefore(parts, { run, epoch, unopened, step, inRoot, beginning });
  if (after === null) return unopened;
  // An older checkpoint that was touched again, or a copy of one, contains files from before.
  const oldestMs = look.files.reduce((oldest, { mtimeMs }) => Math.min(oldest, mtimeMs), Infinity);
  if (oldestMs <= after.at || linesOf(parts, run) >= MOST_LINES) return unopened;
  // Reported first, because the discarded steps belong to the epoch that the program was given.
  if (beginning !== undefined && look.newestMs >= beginning.startedAt)
    await judgeBeginning(parts, run, { step, by: "checkpoint", path: candidate.path });
  const given = beginning?.given;
  const line: UnopenedLine = {
    id: randomUUID(),
    from: given === undefined ? null : { epoch: given.epoch, step: given.step, ...byTime(given) },
    after: { epoch: (unopened === null ? epoch : null) ?? 0, step: after.step, ...byTime(after) },
    step,
  };
  if (unopened !== null) return line;
  try {
    // Also claims the run where no upload did so yet.
    await inTime(hub, () => openLine(parts, run, line));
    beginnings.delete(run);
    return null;
  } catch (error) {
    tellWaiting(reporter, error);
    return line;
  }
}

/**
 * Reports why a line is not opened yet: its captures are kept for when the hub answers, or a person has repaired what it refuses.
 * @throws EPOCH_OVER, faults that end this node, and whatever is no Fault
 */
function tellWaiting(reporter: Parts["reporter"], error: unknown): void {
  if (!isFault(error) || error.code === "EPOCH_OVER" || isFatal(error)) throw error;
  reporter.waitingFor(error);
}

/** Returns how many lines of a run began in this process, with those that are not opened yet. */
const linesOf = ({ linesBegun, ledger }: Pick<Parts, "linesBegun" | "ledger">, run: RunName): number =>
  (linesBegun.get(run) ?? 0) +
  new Set(ledger.all().flatMap((one) => (one.run === run && one.newLine != null ? [one.newLine.id] : []))).size;

/** Longest time that a capture waits for an answer of the hub: meanwhile the program may remove the checkpoint. */
const CAPTURE_WAITS_MS = 5_000;

/**
 * Returns the result of `work`. One that comes later counts too: a line that is asked for again is the same.
 * @throws Fault HUB_UNREACHABLE when the hub is away or does not answer in time, those of `work`
 */
async function inTime<T>({ isUp }: Pick<Agent["hub"], "isUp">, work: () => Promise<T>): Promise<T> {
  const away = new Fault("HUB_UNREACHABLE", { op: "claimEpoch" });
  if (!isUp) throw away;
  const over = new AbortController();
  const late = systemClock.sleep(CAPTURE_WAITS_MS, over.signal).then(() => Promise.reject(away));
  late.catch(() => undefined);
  const working = work();
  working.catch(() => undefined);
  return Promise.race([working, late]).finally(() => over.abort());
}

/** Returns the line to which the last capture of a watched folder belongs while it cannot be opened; null: to an epoch. */
export async function unopenedOf(
  { hub, ledger, openLines, reporter }: Pick<Parts, "hub" | "ledger" | "openLines" | "reporter">,
  { run, inRoot }: { run: RunName; inRoot: number },
): Promise<UnopenedLine | null> {
  const lineOfLast = () =>
    ledger.all().findLast((one) => one.run === run && one.role === undefined && isInRoot(one.place, inRoot))?.newLine ??
    null;
  if (lineOfLast() === null) return null;
  await inTime(hub, () => openLines(run)).catch((error: unknown) => tellWaiting(reporter, error));
  return lineOfLast();
}

const isInRoot = (place: { root?: WatchedRoot | undefined } | undefined, inRoot: number): boolean =>
  (place?.root?.index ?? 0) === inRoot;

interface Wanted {
  run: RunName;
  /** Null: the hub has not said yet which epoch this node writes. */
  epoch: number | null;
  /** Line of the last capture while it cannot be opened: only its own captures are of the same line. */
  unopened: UnopenedLine | null;
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
  const highest = (all: readonly PlacedPoint[]) =>
    all.reduce<PlacedPoint | null>((best, one) => (best === null || one.step > best.step ? one : best), null);
  const counted = highest(points.filter((one) => !isTimeStep(one)));
  if (counted !== null) return step < counted.step ? counted : null;
  const time = highest(points);
  if (time === null) return null;
  // A program that writes both keeps one line: what lay there before it started is an earlier line, and so is a model that has no
  // name of savers (`base.pt`), because no program continues from it.
  const isBefore = beginning !== undefined && time.at < beginning.startedAt;
  return isBefore || isModelAlone(time.place) ? time : null;
}

interface PlacedPoint extends Point {
  place?: { path: string; kind: string } | undefined;
}

/** Returns whether a place is a file whose name is no label of savers. */
const isModelAlone = (place: PlacedPoint["place"]): boolean =>
  place?.kind === "file" && readFileName(basename(place.path))?.isSaverName === false;

/** Returns the checkpoints of the present line that this node knows, and the one that its program was given. */
function pointsOf({ runs, ledger }: Pick<Parts, "runs" | "ledger">, about: Wanted): PlacedPoint[] {
  const { run, epoch, unopened, inRoot, beginning } = about;
  const isIn = (place: { root?: WatchedRoot | undefined } | undefined) => isInRoot(place, inRoot);
  const captured = ledger
    .all()
    .filter((one) => one.run === run && one.role === undefined && isIn(one.place))
    .filter((one) => isOfOneUnopened(one.newLine, unopened))
    .filter((one) => one.epoch === null || one.epoch === epoch)
    .map(({ step, capturedAt, place }) => ({ step, at: capturedAt, source: stepSourceOf(place), place }));
  if (unopened !== null) return captured;
  const safe = ledger.safe(run);
  const piece = ledger.piece(run);
  const newest = runs.get(run)?.claim?.newest ?? null;
  const given = beginning?.given;
  return [
    ...captured,
    ...(safe !== null && safe.epoch === epoch && isIn(safe.place) ? [safe] : []),
    ...(piece !== null && isIn(piece.place) ? [piece] : []),
    // The piece of one node becomes no safe point before the hub has joined it with those of the others.
    ...(newest?.writerEpoch === epoch && isIn(newest.place)
      ? [{ step: newest.step, at: newest.capturedAt, source: stepSourceOf(newest.place), place: newest.place }]
      : []),
    ...(epoch === null ? [] : ledger.reached({ run, root: inRoot, epoch })),
    ...(given === undefined ? [] : [given]),
  ];
}
