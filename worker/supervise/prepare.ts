import { stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import type { StepSource } from "#protocol/checkpoint/place.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import { captureNow } from "../agent/agent-capture.ts";
import { jitter } from "../base/breaker.ts";
import { systemClock } from "../base/clock.ts";
import { isFatal } from "../hub-link/stream.ts";
import { findPlace, type FoundPlace } from "../agent/find-place.ts";
import { restoreNewest } from "../agent/restore-newest.ts";
import { findCandidates } from "../capture/detection/walk-watched.ts";
import { lookAt } from "../capture/detection/look.ts";
import { watchFor, type Watch } from "../capture/watch.ts";
import { nextPlace } from "../capture/detection/writes-elsewhere.ts";
import { reportLoss } from "../agent/report-loss.ts";
import { storedOf } from "../restore/confirm-stored.ts";
import { pointAt } from "../restore/placement/point-at.ts";
import { removeStoredAside, setAside } from "../restore/placement/set-aside.ts";
import {
  chooseResume,
  movedWith,
  type LocalCheckpoint,
  type Resume,
  type ResumePoint,
} from "../agent/choose-resume.ts";
import { restoreOthers, type RestoreMode } from "./restore-others.ts";
import { claimFrom, resumeChoiceOf, type StartFrom } from "./start-from.ts";
import { readLocalCheckpoints, writtenAt } from "../agent/local-checkpoints.ts";

/**
 * Puts the newest complete checkpoint of every watched run in place, or the one that a person chose. Checkpoints of the run
 * from which the program must not resume are moved aside. `restoreMode`: which other checkpoints are restored too. Waits for a hub
 * that does not answer, because the run may have checkpoints.
 * @throws Fault EPOCH_OVER, NODE_UNKNOWN, NODE_REVOKED, NOT_FOUND (no such step), those of a restore, CANCELLED
 */
export async function prepareRuns(
  agent: Agent,
  { startFrom, restoreMode }: { startFrom: StartFrom; restoreMode: RestoreMode },
): Promise<ResumePoint[]> {
  const points: ResumePoint[] = [];
  for (const roots of Map.groupBy(agent.options.watches, ({ run }) => run).values()) {
    const prepared = await prepareRun(agent, roots, startFrom);
    for (const { run, folder } of roots) {
      // Checked at the first start too: some frameworks write to a new folder if this one exists, even if it is empty.
      const elsewhere = await nextPlace(folder);
      if (elsewhere !== null) agent.reporter.writesElsewhere({ run, folder, ...elsewhere });
    }
    for (const { watch, point } of prepared) {
      const { path, step, siblings } = point;
      const one = { run: watch.run, path, step, ...(siblings !== undefined && { siblings }) };
      points.push(one);
      await restoreOthers(agent, { run: watch.run, folder: watch.folder, point: one }, restoreMode);
    }
  }
  return points;
}

/** Longest time that the program's start waits for the removal of copies that were moved aside; then it runs in parallel. */
const REMOVAL_MS = 10_000;

/** Removes copies that are in the bucket. @throws Fault READ_FAILED, WRITE_FAILED, CANCELLED; later failures are only reported */
async function removeInTime(agent: Agent, folder: string): Promise<void> {
  const over = new AbortController();
  const late = systemClock.sleep(REMOVAL_MS, AbortSignal.any([agent.signal, over.signal])).then(() => "late" as const);
  const removal = removeStoredAside(folder, storedOf(agent));
  const first = await Promise.race([removal, late]).finally(() => over.abort());
  if (first === "late") removal.catch(agent.reporter.waitingFor);
}

/** Prepares all watched folders of one run. Returns the points to resume from: the main one first, at most one per folder. */
async function prepareRun(agent: Agent, roots: readonly Watch[], startFrom: StartFrom): Promise<Prepared[]> {
  const { ledger, reporter, epochsBefore, prepared, watchedSince } = agent;
  const [{ run }] = roots as [Watch];
  // If only the program is restarted, checkpoints written since this worker started belong to the current epoch too.
  const isAgain = prepared.has(run);
  const chosen: StartFrom = isAgain ? { kind: "newest" } : startFrom;
  const safeBefore = ledger.safe(run);
  const start = randomUUID();
  for (let tries = 0; ; tries++) {
    const { claim, isOld } = await claimPatiently(agent, { run, start, isAgain, chosen });
    const since = watchedSince.get(run) ?? 0;
    const about = {
      isSameEpoch: epochsBefore.get(run) === claim.epoch || isAgain,
      isFirstStart: epochsBefore.get(run) === null && !isAgain,
      since: Math.max(since, safeBefore?.at ?? 0),
      parentStep: claim.parent?.step ?? null,
      choice: resumeChoiceOf(chosen, claim, ledger.chosenEpoch(run)),
    };
    const plans: Plan[] = [];
    for (const watch of roots) {
      const { knows, isRestored, isUnfinished } = ledger;
      const evidence = { knows, isRestored, isUnfinished, watchedSince: since };
      const local = await readLocalCheckpoints(watch, evidence);
      if (!isAgain) for (const { path, fingerprint } of local) agent.laidBefore.set(path, fingerprint);
      // In a group each node has only a piece, so all nodes resume from a joined checkpoint.
      const seen = watch.group === undefined ? local : local.map((one) => asPiece(one, ledger.isRestored(one.path)));
      const newest = isOld ? claim.newest : await newestIn(agent, watch, claim);
      plans.push({ watch, local, ...chooseResume({ ...about, newest, local: seen }) });
    }
    // Only the hub knows what to fetch, so an old claim is not enough.
    if (isOld && plans.some(({ from }) => from.kind !== "local")) {
      await systemClock.sleep(200 + jitter(systemClock, tries), agent.signal);
      continue;
    }
    for (const plan of plans) await clearFolder(agent, plan, { isOld });
    if (claim.isChosen === true && ledger.chosenEpoch(run) !== claim.epoch) await beginLine(agent, claim, run);
    for (const plan of plans) leaveOthers(agent, plan, claim);
    prepared.add(run);
    const points: Prepared[] = [];
    for (const { watch, from, setAside: unwanted } of plans) {
      const point = await reach(agent, { watch, from, isChosen: chosen.kind === "step" });
      if (point === null) continue;
      if (unwanted.length > 0) await pointTo(agent, { watch, path: point.path, start });
      points.push({ watch, point });
    }
    const main = points.reduce<Prepared | null>(
      (best, one) => (best === null || one.point.step > best.point.step ? one : best),
      null,
    );
    const point = main?.point ?? null;
    // A failure to record lost work, as on a full disk, must not prevent training.
    await reportLoss(agent, { run, claim, from: point }).catch(reporter.waitingFor);
    renewRecord(agent, run);
    const local = plans.find(({ watch }) => watch === main?.watch)?.local ?? [];
    noteBeginning(agent, { claim, main, run, local });
    if (claim.doubtful !== undefined && point?.step !== claim.doubtful.step)
      reporter.doubtfulLater({ run, ...claim.doubtful });
    if (point === null) reporter.resuming({ run, step: null, source: undefined, path: null });
    for (const one of points) reporter.resuming({ run, ...one.point });
    return main === null ? [] : [main, ...points.filter((one) => one !== main)];
  }
}

/** Actions for one watched folder. */
interface Plan extends Resume {
  watch: Watch;
  local: readonly LocalCheckpoint[];
}

/** A watched folder and the checkpoint in it from which the program resumes. */
interface Prepared {
  watch: Watch;
  point: Reached;
}

/** Moves away what the program must not resume from. @throws Fault READ_FAILED, WRITE_FAILED, CANCELLED */
async function clearFolder(agent: Agent, plan: Plan, { isOld }: { isOld: boolean }): Promise<void> {
  const { watch, from, setAside: unwanted } = plan;
  // Without an answer of the hub it is unknown which copies are complete in the bucket.
  if (!isOld) await removeInTime(agent, watch.folder);
  for (const one of unwanted) {
    const how = { isTorn: one.state === "torn" };
    const names = movedWith(one, from.kind) ?? [basename(one.path)];
    for (const path of names.map((name) => join(dirname(one.path), name)))
      agent.reporter.setAside({ path, state: one.state, place: await setAside(path, how) });
  }
}

/** Remembers and reports the checkpoints that stay and are not captured. */
function leaveOthers(agent: Agent, { watch, left, outdated }: Plan, claim: ClaimAnswer): void {
  const { run, folder } = watch;
  for (const { path, fingerprint } of [...left, ...outdated]) agent.leftInPlace.set(path, fingerprint);
  if (left.length > 0) agent.reporter.leftInPlace({ run, folder, names: left.map(({ path }) => basename(path)) });
  if (outdated.length === 0) return;
  const step = claim.parent?.step ?? 0;
  agent.reporter.outdated({ run, folder, step, names: outdated.map(({ path }) => basename(path)) });
}

/**
 * Returns the newest complete checkpoint of a watched folder. When a run has several folders, all but one of them hold an
 * earlier one than the newest of the run. Faults: those of the hub.
 */
async function newestIn(agent: Agent, watch: Watch, { newest }: ClaimAnswer): Promise<ClaimAnswer["newest"]> {
  if (watch.root === undefined || newest === null) return newest;
  const { hub, options, session } = agent;
  const { run } = watch;
  const isIn = async (one: FoundPlace) =>
    watchFor(options.watches, { run, root: (await findPlace(agent, one)).root }) === watch;
  if (await isIn(newest)) return newest;
  if (session.knows("kept") !== true) return null;
  const kept = await hub.ask("listKept", (client, limit) => client.node.listKept.query({ run }, { signal: limit }));
  for (const one of kept) if (await isIn(one)) return one;
  return null;
}

/** Marks a local checkpoint of a group as doubtful, because it is only a piece, unless the whole was restored here. */
const asPiece = (one: LocalCheckpoint, isRestored: boolean): LocalCheckpoint =>
  isRestored || one.state === "torn" ? one : { ...one, state: "doubtful" };

/** Makes DeepSpeed's `latest` and the like name the chosen checkpoint, after later ones were moved aside. Faults: WRITE_FAILED. */
async function pointTo({ reporter }: Agent, about: { watch: Watch; path: string; start: string }): Promise<void> {
  const { watch, path, start } = about;
  const all = await findCandidates(watch, watch.takes);
  const candidate = all.find((one) => one.path === path);
  if (candidate === undefined) return;
  for (const replaced of await pointAt(watch.folder, candidate, start))
    reporter.setAside({ ...replaced, state: "whole" });
}

/** Starts the line of the chosen epoch in the ledger, after later checkpoints were moved aside: only its checkpoints count. */
async function beginLine({ ledger, runs }: Agent, claim: ClaimAnswer, run: RunName): Promise<void> {
  const { newest, epoch } = claim;
  const seen = runs.get(run);
  if (seen !== undefined) seen.seen = null;
  if (newest === null) await ledger.forgetSafe(run);
  else
    await ledger.noteSafe(run, {
      step: newest.step,
      at: newest.capturedAt,
      sizeBytes: 0,
      epoch: newest.writerEpoch,
      source: stepSourceOf(newest.place),
      place: newest.place,
    });
  await ledger.noteChosen(run, epoch);
}

/** Checkpoint that is in place. `at`: time of writing (epoch ms). */
type Reached = Omit<ResumePoint, "run"> & {
  at: number;
  source: StepSource | undefined;
  writerEpoch?: number | undefined;
};

/** Puts the checkpoint in place; null: the beginning. @throws Faults of a restore */
async function reach(
  agent: Agent,
  { watch, from, isChosen }: { watch: Watch; from: Resume["from"]; isChosen: boolean },
): Promise<Reached | null> {
  const { run, folder } = watch;
  switch (from.kind) {
    case "start":
      return null;
    case "local":
      await takeFirst(agent, { watch, path: from.path });
      return { ...from, at: await writtenAt(from.path) };
    case "restore": {
      const pathOf = async (one: FoundPlace) => join(folder, (await findPlace(agent, one)).path);
      const mayFallBack = isChosen ? "if-damaged" : true;
      const found = await restoreNewest(agent, { run, found: from, pathOf, mayFallBack });
      const { origin } = found;
      const source = stepSourceOf(origin?.place) ?? from.source;
      return {
        ...found,
        at: found.capturedAt,
        source,
        writerEpoch: origin?.writerEpoch,
        siblings: origin?.siblings ?? [],
      };
    }
  }
}

/** Captures a checkpoint that exists only here, before the program resumes from it, so that it is queued before later ones. */
async function takeFirst(agent: Agent, about: { watch: Watch; path: string }): Promise<void> {
  const { watch, path } = about;
  const { ledger, reporter } = agent;
  try {
    const candidate = (await findCandidates(watch, watch.takes)).find((one) => one.path === path);
    const look = candidate === undefined ? null : await lookAt(candidate);
    if (candidate === undefined || look === null || ledger.knows(path, look.fingerprint)) return;
    await captureNow(agent, { candidate, look, run: watch.run, root: watch.folder, watchedRoot: watch.root });
  } catch (error) {
    // The watcher retries the capture and reports what prevents it.
    reporter.waitingFor(toFault(error, { op: "capture", subject: path }));
  }
}

/** Records the point, with which the program's first step is compared later. At the beginning there is nothing to compare. */
function noteBeginning(
  { beginnings }: Agent,
  about: { run: RunName; claim: ClaimAnswer; main: Prepared | null; local: readonly LocalCheckpoint[] },
): void {
  const { run, claim, main, local } = about;
  beginnings.delete(run);
  if (main === null) return;
  const { step, at, source, path, writerEpoch } = main.point;
  const { epoch, newest } = claim;
  // A copy of the newest checkpoint on this disk has its epoch; whatever else lies here was written in the present one.
  const ofNewest = newest?.step === step ? newest.writerEpoch : epoch;
  const given = { step, at, source, path, epoch: writerEpoch ?? ofNewest };
  const kept = local
    .filter((one) => one.state !== "torn")
    .map((one) => ({ step: one.step, at: one.writtenAt, source: one.stepSource }));
  beginnings.set(run, { epoch, given, local: kept, root: main.watch.root?.index, startedAt: Date.now() });
}

/** Replaces the step record, so that records of an earlier start, which may still run, are not mixed with new ones. */
function renewRecord({ stepRecords, reporter }: Agent, run: RunName): void {
  try {
    stepRecords.renew(run);
  } catch (error) {
    // The program can still report steps over the socket.
    reporter.waitingFor(toFault(error, { op: "step" }));
  }
}

/**
 * Claims the run, and waits for the hub. The newest checkpoint changes, so it asks at each start of the program. If only the
 * program is restarted and the hub is not reachable, the last claim is used (`isOld`). If another node has taken the run, the
 * hub will refuse this node before anything counts as safe.
 */
export async function claimPatiently(
  { runs, reporter, signal }: Agent,
  { run, start, isAgain, chosen }: { run: string; start?: string; isAgain: boolean; chosen: StartFrom },
): Promise<{ claim: ClaimAnswer; isOld: boolean }> {
  for (let tries = 0; ; tries++) {
    if (signal.aborted) throw new Fault("CANCELLED", { op: "run", subject: run });
    try {
      return {
        claim: await claimFrom({ runs, reporter }, { run, ...(start !== undefined && { start }) }, chosen),
        isOld: false,
      };
    } catch (error) {
      const fault = toFault(error, { op: "claimEpoch", subject: run });
      if (isFatal(fault) || !isFault(error) || fault.retry === "never") throw fault;
      reporter.waitingFor(fault);
      const held = runs.get(run)?.claim ?? null;
      if (isAgain && held !== null) return { claim: held, isOld: true };
      await systemClock.sleep(200 + jitter(systemClock, tries), signal);
    }
  }
}
