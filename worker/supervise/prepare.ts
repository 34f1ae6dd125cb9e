import { randomUUID } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
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
import type { Watch } from "../capture/watch.ts";
import { nextPlace } from "../capture/detection/writes-elsewhere.ts";
import { reportLoss } from "../agent/report-loss.ts";
import { storedOf } from "../restore/confirm-stored.ts";
import { removeStoredAside, setAside } from "../restore/placement/set-aside.ts";
import { chooseResume, movedWith, type LocalCheckpoint, type Resume } from "../agent/choose-resume.ts";
import { restoreOthers, type RestoreWish } from "./restore-others.ts";
import { claimFrom, resumeWishOf, type StartFrom } from "./start-from.ts";
import { readLocalCheckpoints, writtenAt } from "../agent/local-checkpoints.ts";

/** Where a run goes on from; null: from its start. */
export interface ResumePoint {
  run: RunName;
  path: string;
  step: number;
  /** Names of checkpoints that lay beside it when it was captured, where a framework compares all of them. */
  siblings?: readonly string[];
}

/**
 * Puts the newest complete checkpoint of every watched run in place, or the one that a person chose, and moves out of the way
 * what this run wrote and the program must not go on from. `wish`: which others come back too. A hub that is away is waited for: that nobody answers does not
 * mean that there is nothing.
 * Faults: EPOCH_OVER, NODE_UNKNOWN, NODE_REVOKED, NOT_FOUND (no such step), those of a restore, CANCELLED.
 */
export async function prepareRuns(
  agent: Agent,
  { startFrom, wish }: { startFrom: StartFrom; wish: RestoreWish },
): Promise<ResumePoint[]> {
  const points: ResumePoint[] = [];
  for (const watch of agent.options.watches) {
    const point = await prepareRun(agent, watch, startFrom);
    // Also at its first start: a framework makes a new folder because this one is there, whatever is in it.
    const elsewhere = await nextPlace(watch.folder);
    if (elsewhere !== null) agent.narrator.writesElsewhere({ run: watch.run, folder: watch.folder, ...elsewhere });
    if (point === null) continue;
    points.push(point);
    await restoreOthers(agent, { run: watch.run, folder: watch.folder, point }, wish);
  }
  return points;
}

/** Training waits for the removal of kept copies no longer than this; the rest of it goes on beside the program. */
const REMOVAL_MS = 10_000;

/** Faults: READ_FAILED, WRITE_FAILED, CANCELLED, within the time; what fails later is told. */
async function removeInTime(agent: Agent, folder: string): Promise<void> {
  const over = new AbortController();
  const late = systemClock.sleep(REMOVAL_MS, AbortSignal.any([agent.signal, over.signal])).then(() => "late" as const);
  const removal = removeStoredAside(folder, storedOf(agent));
  const first = await Promise.race([removal, late]).finally(() => over.abort());
  if (first === "late") removal.catch(agent.narrator.waitingFor);
}

async function prepareRun(agent: Agent, watch: Watch, startFrom: StartFrom): Promise<ResumePoint | null> {
  const { ledger, narrator, epochsBefore, prepared, watchedSince } = agent;
  const { run, folder } = watch;
  // After a restart of the program in this life, what was written here since is of the present epoch too.
  const isAgain = prepared.has(run);
  const chosen: StartFrom = isAgain ? { kind: "newest" } : startFrom;
  const safeBefore = ledger.safe(run);
  const start = randomUUID();
  for (let tries = 0; ; tries++) {
    const { claim, isOld } = await claimPatiently(agent, { run, start, isAgain, chosen });
    const { newest } = claim;
    const isSameEpoch = epochsBefore.get(run) === claim.epoch || isAgain;
    const isFirstStart = epochsBefore.get(run) === null && !isAgain;
    const since = watchedSince.get(run) ?? 0;
    const local = await readLocalCheckpoints(watch, {
      knows: ledger.knows,
      isRestored: ledger.isRestored,
      watchedSince: since,
    });
    if (!isAgain) for (const { path, fingerprint } of local) agent.laidBefore.set(path, fingerprint);
    const {
      from,
      setAside: unwanted,
      left,
    } = chooseResume({
      newest,
      isSameEpoch,
      isFirstStart,
      since: Math.max(since, safeBefore?.at ?? 0),
      wish: resumeWishOf(chosen, claim, ledger.chosenEpoch(run)),
      // Of several nodes each has a piece: all of them go on from what was joined.
      local: watch.group === undefined ? local : local.map((one) => asPiece(one, ledger.isRestored(one.path))),
    });
    // What has to be fetched only the hub can say.
    if (isOld && from.kind !== "local") {
      await systemClock.sleep(200 + jitter(systemClock, tries), agent.signal);
      continue;
    }
    // A hub that is away says of nothing that it is complete.
    if (!isOld) await removeInTime(agent, folder);
    for (const one of unwanted) {
      const how = { isTorn: one.state === "torn" };
      const names = movedWith(one, from.kind) ?? [basename(one.path)];
      for (const path of names.map((name) => join(dirname(one.path), name)))
        narrator.setAside({ path, state: one.state, place: await setAside(path, how) });
    }
    if (claim.isChosen === true && ledger.chosenEpoch(run) !== claim.epoch) await beginLine(agent, claim, run);
    for (const { path, fingerprint } of left) agent.leftInPlace.set(path, fingerprint);
    if (left.length > 0) narrator.leftInPlace({ run, folder, names: left.map(({ path }) => basename(path)) });
    prepared.add(run);
    const point = await reach(agent, { watch, from });
    // What was lost is history; that it cannot be written down (a full disk) keeps nobody from training.
    await reportLoss(agent, { run, claim, from: point }).catch(narrator.waitingFor);
    renewRecord(agent, run);
    noteBeginning(agent, { run, epoch: claim.epoch, point, local });
    if (claim.doubtful !== undefined && point?.step !== claim.doubtful.step)
      narrator.doubtfulLater({ run, ...claim.doubtful });
    narrator.resuming({ run, step: point?.step ?? null, path: point?.path ?? null });
    if (point === null) return null;
    const { path, step, siblings } = point;
    return { run, path, step, ...(siblings !== undefined && { siblings }) };
  }
}

/** A piece by itself is nothing to go on from, unless it is the whole that was restored here. */
const asPiece = (one: LocalCheckpoint, isRestored: boolean): LocalCheckpoint =>
  isRestored || one.state === "torn" ? one : { ...one, state: "doubtful" };

/** What lies beyond the chosen start is out of the way: from here on only what is of the new line counts. */
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
    });
  await ledger.noteChosen(run, epoch);
}

/** Where it goes on, and when that was written (epoch ms); null: at the beginning. Faults: those of a restore. */
async function reach(
  agent: Agent,
  { watch, from }: { watch: Watch; from: Resume["from"] },
): Promise<(Omit<ResumePoint, "run"> & { at: number }) | null> {
  const { run, folder } = watch;
  switch (from.kind) {
    case "start":
      return null;
    case "local":
      await takeFirst(agent, { watch, path: from.path });
      return { ...from, at: await writtenAt(from.path) };
    case "restore": {
      const pathOf = async (one: FoundPlace) => join(folder, (await findPlace(agent, one)).path);
      const found = await restoreNewest(agent, { run, found: from, pathOf, mayFallBack: true });
      return { ...found, at: found.capturedAt, siblings: found.origin?.siblings ?? [] };
    }
  }
}

/** A checkpoint that is here and nowhere else is secured before the program goes on from it, and queued before all that follow. */
async function takeFirst(agent: Agent, about: { watch: Watch; path: string }): Promise<void> {
  const { watch, path } = about;
  const { ledger, narrator } = agent;
  try {
    const candidate = (await findCandidates(watch.folder, watch.takes, watch.followsLinks)).find(
      (one) => one.path === path,
    );
    const look = candidate === undefined ? null : await lookAt(candidate);
    if (candidate === undefined || look === null || ledger.knows(path, look.fingerprint)) return;
    await captureNow(agent, { candidate, look, run: watch.run, root: watch.folder });
  } catch (error) {
    // The watcher tries again, and says what is in the way.
    narrator.waitingFor(toFault(error, { op: "capture", subject: path }));
  }
}

/** What the program says or writes first shows whether it goes on from `point`. From the beginning there is nothing to compare. */
function noteBeginning(
  { beginnings }: Agent,
  about: {
    run: RunName;
    epoch: number;
    point: { step: number; at: number } | null;
    local: readonly LocalCheckpoint[];
  },
): void {
  const { run, epoch, point, local } = about;
  beginnings.delete(run);
  if (point === null) return;
  const { step, at } = point;
  const kept = local.filter((one) => one.state !== "torn").map((one) => ({ step: one.step, at: one.writtenAt }));
  beginnings.set(run, { epoch, given: { step, at }, local: kept, startedAt: Date.now() });
}

/** What this program writes is not mixed with what one of an earlier start wrote, or still writes. */
function renewRecord({ stepRecords, narrator }: Agent, run: RunName): void {
  try {
    stepRecords.renew(run);
  } catch (error) {
    // It says its steps over the socket then.
    narrator.waitingFor(toFault(error, { op: "step" }));
  }
}

/**
 * Asks anew each time: the newest checkpoint changes while the run goes on. With the hub away what it said last holds for a
 * program that is started again (`isOld`): its node has not lost the run, or will be told so before anything is safe.
 */
export async function claimPatiently(
  { runs, narrator, signal }: Agent,
  { run, start, isAgain, chosen }: { run: string; start?: string; isAgain: boolean; chosen: StartFrom },
): Promise<{ claim: ClaimAnswer; isOld: boolean }> {
  for (let tries = 0; ; tries++) {
    if (signal.aborted) throw new Fault("CANCELLED", { op: "run", subject: run });
    try {
      return {
        claim: await claimFrom({ runs, narrator }, { run, ...(start !== undefined && { start }) }, chosen),
        isOld: false,
      };
    } catch (error) {
      const fault = toFault(error, { op: "claimEpoch", subject: run });
      if (isFatal(fault) || !isFault(error) || fault.retry === "never") throw fault;
      narrator.waitingFor(fault);
      const held = runs.get(run)?.claim ?? null;
      if (isAgain && held !== null) return { claim: held, isOld: true };
      await systemClock.sleep(200 + jitter(systemClock, tries), signal);
    }
  }
}
