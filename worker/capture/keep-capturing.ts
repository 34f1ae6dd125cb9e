import type { UnopenedLine } from "#protocol/checkpoint/line-branch.ts";
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { Fault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { NodeEventBody } from "#protocol/wire/reports.ts";
import { systemClock, type Clock } from "../base/clock.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import type { BesideLeft } from "./detection/beside.ts";
import type { Capture } from "./capture.ts";
import type { Candidate } from "./detection/find.ts";
import type { Look } from "./detection/look.ts";
import { FINAL_QUIET_MS } from "./detection/final-model.ts";
import { findFinal as findFinalIn } from "./detection/look-over.ts";
import { readGlobalStep } from "./detection/read-global-step.ts";
import {
  createLastSettler,
  createSettler,
  createSettlerByNow,
  hasOpenWriter,
  type ProgramOver,
} from "./detection/settle.ts";
import { createRecogniser } from "./detection/recognise.ts";
import { closeAll, followShape, lacksWords, openingOf, openWithin, storedWithin } from "./open-captures.ts";
import { createRefusals } from "./refusals.ts";
import { takeCapture, type TakeParts } from "./take-capture.ts";
import { notEnteredFaults, untakenReason, untakenWords } from "./detection/untaken.ts";
import { createFinder, type Finder } from "./detection/walk-watched.ts";
import { createRests } from "./rests.ts";
import { keepWatching, lookOnce, type Watch, type Watching } from "./watch.ts";

/** Parts that turn names in a watched folder into captures in the ledger. */
export interface Capturing extends TakeParts {
  watch: Watch;
  /** When this worker began to watch the run, epoch ms. */
  watchedSince: number;
  settleMs: number;
  /** See `SettleOptions`. */
  unfinishedAfterMs: number;
  outbox: Outbox;
  signal: AbortSignal;
  /** Fires before `signal`, when no more captures are wanted. */
  until: AbortSignal;
  /** Returns, once `until` has fired, how the program ended; null when it may go on writing. */
  over(): ProgramOver | null;
  /** Returns whether a checkpoint is ignored while it stays unchanged, because nothing shows that this run wrote it. */
  isLeft?(path: string, fingerprint: string): boolean;
  /** Returns whether nothing is captured now; later looks try again. */
  isPaused?(): boolean;
  clock?: Clock;
  /** Called with the newest checkpoint in the folder, finished or not. */
  onSeen(run: RunName, newest: { step: number; at: number }, candidate: Candidate): void;
  /** Called before a checkpoint is captured. Faults: those of a claim; a later look then tries again. */
  onBefore?(candidate: Candidate, look: Look): Promise<UnopenedLine | null>;
  onCaptured(capture: Capture): void;
  /** Called when it became known which files belong to captures whose commit waited for that. */
  onFilesKnown?(): void;
  /** Called with a committed checkpoint that turned out to lack files of its step, at each look until it is whole. */
  onDoubt?(about: { checkpointId: string; step: number; why: string }): void | Promise<void>;
  /** Whether the program said that all it has written is finished, so that no capture waits for more files. Left out: it did not. */
  isAllWritten?: boolean;
  onPassedOver(candidate: Candidate): void;
  /** `look` is null when the candidate could not be read, or never stops changing. */
  onRefused(candidate: Candidate, fault: Fault, look: Look | null): void;
  onFault(fault: Fault): void;
}

/** Settle times without a change before something is reported as no checkpoint: it may become one while it is written. */
const QUIET_TIMES = 30;
/** Something that never stops changing is reported after this time, so that a person knows within two minutes. */
const MOST_UNSAID_MS = 55_000;
/** Limit of remembered paths, for a program that makes ever new names. */
const MOST_REMEMBERED = 1_000;
/** Captures until no more are wanted, then captures what a program that has ended left. */
export async function keepCapturing(capturing: Capturing): Promise<void> {
  const watching = watchingOf(capturing);
  await keepWatching(watching);
  const how = capturing.over();
  if (how === null || capturing.signal.aborted) return;
  await lookLast(watching, how, capturing.signal);
  if (await closeAll(capturing.ledger, { run: capturing.watch.run, how: how === "done" ? "done" : "crashed" }))
    capturing.onFilesKnown?.();
}

/** Longest wait of `takeFinished`; what needs longer is left to the watcher. */
const MOST_PATIENCE_MS = 30_000;

/**
 * Captures what is finished by now, while its program goes on. A checkpoint that does not say whether it is finished is awaited
 * until it was quiet for the settle time, or until the signal fires. Faults: that of the signal.
 */
export async function takeFinished(capturing: Capturing, until: AbortSignal): Promise<void> {
  const { settleMs, wallNow, signal, ledger, watch } = capturing;
  const settler = createSettlerByNow({ settleMs, wallNow, hasWriter: hasOpenWriter });
  const watching = { ...watchingOf({ ...capturing, isAllWritten: true }), signal, settler };
  const { clock } = watching;
  const endsAt = clock.now() + MOST_PATIENCE_MS;
  for (;;) {
    await lookOnce(watching);
    const leftMs = settler.leftMs();
    if (leftMs === 0 || clock.now() + leftMs > endsAt) break;
    await clock.sleep(leftMs, until);
  }
  // Whoever asks for this says that its saves are complete.
  if (await closeAll(ledger, { run: watch.run, how: "done" })) capturing.onFilesKnown?.();
}

async function lookLast(watching: WatchingHere, how: ProgramOver, signal: AbortSignal): Promise<void> {
  const rests = createRests(watching.clock.now);
  // No later look follows, so a refusal need not be left alone for a while.
  const knows = watching.isTaken;
  // An earlier walk does not have what the program wrote last.
  const finder = watching.newFinder();
  // The program has ended, so weights below the folder are final without a quiet time.
  const findFinalModel = () => watching.findFinal(finder, 0);
  await lookOnce({ ...watching, finder, findFinalModel, signal, settler: createLastSettler(how), rests, knows });
}

interface WatchingHere extends Watching {
  newFinder(): Watching["finder"];
  /** Like `findFinalModel`; what lies below the folder has to be unchanged for `quietMs`. */
  findFinal(finder: Watching["finder"], quietMs: number): ReturnType<Watching["findFinalModel"]>;
  /** Returns whether it was captured, passed over, or refused for good. */
  isTaken(path: string, fingerprint: string): boolean;
}

function watchingOf(capturing: Capturing): WatchingHere {
  const { watch, ledger, runs, outbox, until, wallNow } = capturing;
  const { settleMs, unfinishedAfterMs, watchedSince, clock = systemClock } = capturing;
  const settler = createSettler({
    settleMs,
    unfinishedAfterMs,
    now: clock.now,
    wallNow,
    hasWriter: hasOpenWriter,
  });

  const isSayable = sayableOf(capturing, clock);
  const refusals = createRefusals(capturing, clock);
  const refuseFile = (path: string, fault: Fault) =>
    refusals.refuse({ path, name: basename(path), step: 0, kind: "file" }, { look: null, fault });
  const ownFinder = createFinder(watch, watch.takes);
  const finder = watch.group === undefined ? ownFinder : findPieces(ownFinder);
  const isTaken: WatchingHere["isTaken"] = (path, fingerprint) => ledger.knows(path, fingerprint);
  // An older hub would take a final model for a checkpoint. A hub that has said nothing yet most likely knows the difference.
  const findFinal: WatchingHere["findFinal"] = async (finder, quietMs) => {
    if (capturing.hubKnows?.("final-model") === false) return null;
    const newestCheckpointMs = runs.get(watch.run)?.seen?.at ?? ledger.safe(watch.run)?.at ?? null;
    return findFinalIn({ watch, finder }, { newestCheckpointMs, now: wallNow(), quietMs, watchedSince });
  };
  return {
    watch,
    settler,
    recogniser: createRecogniser({
      isNamed: watch.takes !== null,
      onlyOwn: watch.isDefault === true,
      watchedSince,
      knows: ledger.knows,
      isRestored: ledger.isRestored,
    }),
    finder,
    watchedSince,
    newFinder: finder.again,
    clock,
    signal: until,
    rests: createRests(clock.now),
    isTaken,
    recall: ledger.recall,
    knows: (path, fingerprint) => isTaken(path, fingerprint) || refusals.isResting(path, fingerprint),
    takesDoubtful: () => capturing.hubKnows?.("doubt") === true,
    isLeft: (path, fingerprint) => capturing.isLeft?.(path, fingerprint) === true,
    findFinalModel: (finder) => findFinal(finder, FINAL_QUIET_MS),
    findFinal,
    stepOfFinalModel: () => stepOfFinalModel(capturing),
    onOther: async (candidate, { look, why }) => {
      const when = isSayable(candidate.path, look.touchedMs);
      if (when === "later") return;
      const detail = `${why} (${namesOf(look)})`;
      await refusals.refuse(candidate, {
        // Something that never stops changing is reported once, whatever it becomes.
        look: when === "quiet" ? look : null,
        fault: new Fault("NO_CHECKPOINT", { op: "capture", subject: candidate.path, detail }),
      });
    },
    onUntaken: async (untaken) => {
      for (const fault of notEnteredFaults(watch.folder, untaken))
        await refuseFile(fault.context.subject ?? watch.folder, fault);
      const [largest] = untaken.largest;
      if (largest === undefined) return;
      const path = join(watch.folder, largest.path);
      if (isSayable(path, untaken.newestMs) === "later") return;
      const detail = `${untakenReason(untaken)} (${untakenWords(untaken)})`;
      await refuseFile(path, new Fault("NO_CHECKPOINT", { op: "capture", subject: path, detail }));
    },
    onLooked: (candidate, looked) => followLooked(capturing, candidate, looked),
    onSeen: (newest, look) => {
      const run = runs.get(watch.run);
      if (run === undefined || look.files.length === 0) return;
      // The watched folder that was written last counts.
      if (watch.root !== undefined && run.seen !== null && run.seen.at > look.newestMs) return;
      run.seen = { step: newest.step, at: Math.round(look.newestMs), source: newest.stepFrom ?? "name" };
      capturing.onSeen(watch.run, run.seen, newest);
    },
    onPassedOver: async (candidate, look) => {
      if (capturing.isPaused?.() === true) return;
      await outbox.add(passedOver(watch, { candidate, look, at: wallNow() }));
      await ledger.remember(candidate.path, look.fingerprint);
      await ledger.rememberSet(candidate.path, look);
      refusals.forget(candidate.path);
      capturing.onPassedOver(candidate);
    },
    onRefused: refusals.refuse,
    tellUntold: refusals.tellUntold,
    onFault: capturing.onFault,
    onFinished: async (candidate, look) => {
      if (capturing.isPaused?.() === true) return false;
      const newLine = (await capturing.onBefore?.(candidate, look)) ?? null;
      const left: BesideLeft[] = [];
      const parts = { ...capturing, onBesideLeft: (names: readonly BesideLeft[]) => void left.push(...names) };
      const within = openWithin(ledger.all(), candidate);
      const about = { settleMs, mostMs: unfinishedAfterMs, wallNow: wallNow() };
      const open = capturing.isAllWritten === true ? null : await openingOf(candidate, look, about);
      const taken = await takeCapture(parts, {
        candidate,
        look,
        run: watch.run,
        root: watch.folder,
        watchedRoot: watch.root,
        open,
        newLine,
      });
      if (taken === null) return true;
      for (const { id } of within) await ledger.update(id, { replacedBy: taken.id });
      if (within.length > 0) capturing.onFilesKnown?.();
      // It may have been committed since the look that found its late file.
      await doubtPartsStored(capturing, candidate, look);
      refusals.forget(candidate.path);
      capturing.onCaptured(taken);
      await refusals.saySpecial(candidate, look);
      await refusals.sayBesideLeft(left);
      return true;
    },
  };
}

/** Ends the waits that a look shows to be over, and doubts what is stored and lacks a file. */
async function followLooked(
  capturing: Capturing,
  candidate: Parameters<Watching["onLooked"]>[0],
  { look, isKnown }: Parameters<Watching["onLooked"]>[1],
): Promise<void> {
  const { ledger, wallNow, settleMs } = capturing;
  const about = { isKnown, wallNow: wallNow(), waitMs: settleMs * QUIET_TIMES };
  if (await followShape(ledger, candidate, about)) capturing.onFilesKnown?.();
  // At once, and not when the late file is finished: nothing may call the half step safe until then.
  if (!isKnown) return doubtPartsStored(capturing, candidate, look);
  const { step, lacks } = candidate;
  const checkpointId = lacks === undefined ? null : ledger.storedAs(candidate.path, look.fingerprint);
  if (checkpointId !== null && lacks !== undefined)
    await capturing.onDoubt?.({ checkpointId, step, why: lacksWords(lacks) });
}

/** Doubts the committed checkpoints that hold a part of this step. */
async function doubtPartsStored(
  { ledger, onDoubt }: Pick<Capturing, "ledger" | "onDoubt">,
  candidate: Candidate,
  look: Look,
): Promise<void> {
  for (const { checkpointId, lacks } of storedWithin(ledger, candidate, look))
    await onDoubt?.({ checkpointId, step: candidate.step, why: `${lacks} was written after it was captured` });
}

/** Returns the step of a final model: the one in the Trainer's state beside it, else the highest that is known of the run. */
async function stepOfFinalModel({ watch, ledger, runs }: Capturing): Promise<number> {
  const { run, folder } = watch;
  const captured = ledger.all().filter((item) => item.run === run && item.role === undefined);
  const known = [runs.get(run)?.seen?.step ?? 0, ledger.safe(run)?.step ?? 0, ...captured.map(({ step }) => step)];
  return (await readGlobalStep(folder)) ?? Math.max(...known);
}

/** Marks all candidates as pieces, because several nodes write the run together. */
function findPieces(finder: Finder): Finder {
  const asPiece = (candidate: Candidate): Candidate => ({ ...candidate, isPiece: true });
  return {
    ...finder,
    find: async () => (await finder.find()).map(asPiece),
    findAnew: async () => (await finder.findAnew()).map(asPiece),
    again: () => findPieces(finder.again()),
  };
}

/** Returns when something is reported as no checkpoint: now that it is quiet, now because it never is ("busy"), or later. */
function sayableOf(
  { settleMs, wallNow }: Capturing,
  clock: Clock,
): (path: string, changedMs: number) => "quiet" | "busy" | "later" {
  const seenSince = new Map<string, number>();
  const saidBusy = new Set<string>();
  return (path, changedMs) => {
    if (seenSince.size > MOST_REMEMBERED) seenSince.clear();
    const since = seenSince.get(path) ?? clock.now();
    seenSince.set(path, since);
    const isBusy = wallNow() - changedMs < QUIET_TIMES * settleMs;
    if (isBusy && clock.now() - since >= MOST_UNSAID_MS) saidBusy.add(path);
    return saidBusy.has(path) ? "busy" : isBusy ? "later" : "quiet";
  };
}

const MOST_NAMES = 3;

/** Returns the first names in it, for the message. */
function namesOf({ files }: Look): string {
  const names = files.slice(0, MOST_NAMES).map(({ relative }) => relative);
  const more = files.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/**
 * Returns the event for a checkpoint that was never captured because a newer one was finished as well. It ends as superseded,
 * so that the history has no gaps. Its ids are made from path and fingerprint, so that a repetition after a kill is one entry.
 */
function passedOver(watch: Watch, about: { candidate: Candidate; look: Look; at: number }): NodeEventBody {
  const { candidate, look, at } = about;
  const name = createHash("sha256").update(`${candidate.path}\0${look.fingerprint}`).digest("hex").slice(0, 32);
  return {
    type: "transfer-ended",
    transferId: `passed-${name}`,
    direction: "upload",
    state: "superseded",
    checkpointId: `passed-${name}`,
    run: watch.run,
    step: candidate.step,
    bytes: look.sizeBytes,
    files: look.files.length,
    sentBytes: 0,
    startedAt: Math.round(at),
    retries: 0,
    connections: 0,
    startedBy: "queue",
    fault: null,
  };
}
