import { watch as watchFolder, type FSWatcher } from "node:fs";
import { basename, dirname, resolve, sep } from "node:path";
import { Fault, isFault, toFault } from "#protocol/faults/fault.ts";
import { runName, type RunName } from "#protocol/base/names.ts";
import { rootFor, type WatchedRoot } from "#protocol/checkpoint/place.ts";
import type { GroupMember } from "#protocol/checkpoint/pieces.ts";
import type { Clock } from "../base/clock.ts";
import { readGlob } from "../command-line/glob.ts";
import type { Candidate, NamePattern } from "./detection/find.ts";
import { findLeft } from "./detection/look-over.ts";
import type { Untaken } from "./detection/untaken.ts";
import type { Finder } from "./detection/walk-watched.ts";
import { lookAt, type Look } from "./detection/look.ts";
import { inOrderOfEvidence, type Recogniser } from "./detection/recognise.ts";
import type { Settler } from "./detection/settle.ts";
import type { Rests } from "./rests.ts";

/**
 * One watched folder. File system notifications only cause an earlier look: they get lost, so the folder is looked at every two
 * seconds anyway. When several checkpoints are finished at the same look, the one that was written last is captured, because
 * latest wins. The older ones are recorded as passed over.
 */
export interface Watch {
  folder: string;
  run: RunName;
  /** Names that are checkpoints; null: the names that frameworks use. */
  takes: NamePattern | null;
  /** Whether links out of the folder are followed, wherever they lead. */
  followsLinks?: boolean;
  /** Nobody named the folder: it is the working folder of the program. Only what this run wrote counts as its checkpoints. */
  isDefault?: boolean;
  /** Set when several nodes write the run together; the folder then holds the pieces of this node. */
  group?: GroupMember;
  /** Which of several watched folders of the run it is; absent: the run has this one alone. */
  root?: WatchedRoot;
}

export interface Watching {
  watch: Watch;
  settler: Settler;
  recogniser: Recogniser;
  finder: Finder;
  /** When this worker began to watch the run, epoch ms. */
  watchedSince: number;
  clock: Clock;
  signal: AbortSignal;
  knows(path: string, fingerprint: string): boolean;
  /** Like `Ledger.recall`. */
  recall(path: string, look: Look): Promise<void>;
  /** Returns whether a checkpoint is ignored while it stays unchanged. */
  isLeft(path: string, fingerprint: string): boolean;
  rests: Rests;
  /**
   * Secures a finished checkpoint. Returns whether it is secured; false when nothing is captured now. After false, and after a
   * fault SOURCE_CHANGED, a later look takes it.
   */
  onFinished(candidate: Candidate, look: Look): Promise<boolean>;
  /** Returns whether the hub keeps doubtful checkpoints apart. An older hub would take one for complete. */
  takesDoubtful(): boolean;
  /** Called for an older checkpoint that was finished together with a newer one. */
  onPassedOver(candidate: Candidate, look: Look): Promise<void>;
  onRefused(candidate: Candidate, about: { look: Look | null; fault: Fault }): Promise<void>;
  /** Returns the weights in the folder itself, or below it; null when there are none. */
  findFinalModel(finder: Finder): Promise<Omit<Candidate, "step"> | null>;
  /** Returns the step of a final model that is about to be captured. */
  stepOfFinalModel(): Promise<number>;
  /** Called for a candidate whose name ends in a number but whose content is no checkpoint. */
  onOther(candidate: Candidate, about: { look: Look; why: string }): Promise<void>;
  /** Called with the files that belong to no candidate. */
  onUntaken(untaken: Untaken): Promise<void>;
  /** Called with each candidate of a look that was recognised as a checkpoint, before it is decided whether it is finished. `isKnown`: it was captured, passed over or refused as it is. */
  onLooked(candidate: Candidate, about: { look: Look; isKnown: boolean }): Promise<void>;
  onSeen(newest: Candidate, look: Look): void;
  /** Called at the end of each look, to report what could not be reported before. */
  tellUntold(): Promise<void>;
  onFault(fault: Fault): void;
}

const RESCAN_MS = 2_000;
/** An unsettled candidate is looked at again this soon, then less and less often: it may be written for minutes. */
const SOON_MS = 250;
const AFTER_NOTICE_MS = 250;
/** Period of reports on untaken files: a person is told within two minutes. */
const UNTAKEN_EVERY_MS = 30_000;

/**
 * Returns which folder belongs to which run: by `runs` in the order of the folders, or else by the name of the folder. A
 * checkpoint is restored below the folder of its run, wherever that lies on this machine. @throws Fault BAD_INPUT
 */
export function readWatches(given: {
  folders: readonly string[];
  runs: readonly string[];
  patterns: readonly string[];
  followsLinks?: boolean;
  isDefault?: boolean;
}): Watch[] {
  const { folders, runs, followsLinks = false, isDefault = false } = given;
  if (isDefault && folders.some((folder) => dirname(resolve(folder)) === resolve(folder))) {
    const detail = "it is missing: without it the working folder is watched, and that is the root of the disk";
    throw new Fault("BAD_INPUT", { op: "usage", subject: "--watch DIR", detail });
  }
  const takes = readPatterns(given.patterns);
  // One run for several folders: its checkpoints lie in all of them.
  if (runs.length > 1 && folders.length > 0 && runs.length !== folders.length) {
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: `--run ${runs.join(" --run ")}`,
      detail: `there are ${folders.length} watched folders and ${runs.length} runs; name one run for all, or one for each, in their order`,
    });
  }
  const watches = folders.map((folder, at) => {
    const run = runs.length === 1 ? runs[0] : runs[at];
    const requested = run ?? basename(resolve(folder)).replaceAll(/[^A-Za-z0-9._-]/g, "-");
    const parsed = runName.safeParse(requested);
    if (!parsed.success) {
      const subject = run === undefined ? `--watch ${folder}` : `--run ${run}`;
      throw new Fault("BAD_INPUT", {
        op: "usage",
        subject,
        detail: parsed.error.issues[0]?.message ?? "not a run name",
      });
    }
    return {
      folder: resolve(folder),
      run: parsed.data,
      takes,
      ...(followsLinks && { followsLinks }),
      ...(isDefault && { isDefault }),
    };
  });
  const twice = watches.find(({ run: name }, index) => watches.findIndex((other) => other.run === name) !== index);
  if (twice !== undefined && runs.length === 0) {
    throw new Fault("BAD_INPUT", {
      op: "usage",
      subject: `--watch ${twice.folder}`,
      detail: `two watched folders would both be the run ${twice.run}; name a run for each with --run, in their order, or one run for all`,
    });
  }
  return withRoots(watches);
}

/** Numbers the folders of a run that has several. @throws Fault BAD_INPUT when one lies in another: both would capture it */
function withRoots(watches: readonly Watch[]): Watch[] {
  return watches.map((watch) => {
    const ofRun = watches.filter(({ run }) => run === watch.run);
    if (ofRun.length === 1) return watch;
    const around = ofRun.find((one) => one !== watch && (watch.folder + sep).startsWith(one.folder + sep));
    if (around !== undefined) {
      const detail = `it lies in ${around.folder}, which is watched for ${watch.run} too: watch one of them`;
      throw new Fault("BAD_INPUT", { op: "usage", subject: `--watch ${watch.folder}`, detail });
    }
    return { ...watch, root: { index: ofRun.indexOf(watch), name: basename(watch.folder) || "root" } };
  });
}

/** Returns the watched folder of a run to which a checkpoint belongs; undefined: the run is not watched. */
export function watchFor(
  watches: readonly Watch[],
  { run, root }: { run: RunName; root: WatchedRoot | undefined },
): Watch | undefined {
  const ofRun = watches.filter((one) => one.run === run);
  const names = ofRun.map((one) => one.root?.name ?? "");
  return ofRun[rootFor(names, root)];
}

/** Returns null when no pattern was given. @throws Fault BAD_INPUT */
function readPatterns(globs: readonly string[]): NamePattern | null {
  if (globs.length === 0) return null;
  const patterns = globs.map((glob) => readGlob("pattern", glob));
  return (name) => patterns.some((matches) => matches(name));
}

/** Looks until the signal fires. */
export async function keepWatching(watching: Watching): Promise<void> {
  const { clock, signal, watch } = watching;
  let notify: (() => void) | null = null;
  let soonMs = SOON_MS;
  let lookedAt = clock.now();
  const held: { watcher: FSWatcher | null } = { watcher: null };
  try {
    while (!signal.aborted) {
      held.watcher ??= openWatcher(watch.folder, {
        onNotice: () => notify?.(),
        onEnd: () => {
          held.watcher = null;
        },
      });
      let restMs = RESCAN_MS;
      try {
        if (await lookOnce(watching)) {
          restMs = soonMs;
          soonMs = Math.min(RESCAN_MS, soonMs * 2);
        } else soonMs = SOON_MS;
        if (clock.now() - lookedAt >= UNTAKEN_EVERY_MS) {
          lookedAt = clock.now();
          const final = await watching.findFinalModel(watching.finder);
          const since = watch.isDefault === true ? watching.watchedSince : 0;
          await watching.onUntaken(await findLeft({ watch, finder: watching.finder }, { final, since, isOver: false }));
        }
      } catch (error) {
        if (!signal.aborted) watching.onFault(toFault(error, { op: "watch", subject: watch.folder }));
      }
      const noticed = new Promise<void>((resolve) => {
        notify = resolve;
      }).then(() => {
        soonMs = SOON_MS;
        return clock.sleep(AFTER_NOTICE_MS, signal);
      });
      await Promise.race([noticed, clock.sleep(restMs, signal)]).catch(() => undefined);
    }
  } finally {
    held.watcher?.close();
  }
}

/** Returns null while the folder does not exist, or when the system has no notifications left. */
function openWatcher(folder: string, on: { onNotice: () => void; onEnd: () => void }): FSWatcher | null {
  try {
    const watcher = watchFolder(folder, on.onNotice);
    watcher.on("error", () => {
      watcher.close();
      on.onEnd();
    });
    return watcher;
  } catch {
    return null;
  }
}

/** Captures what is finished now. Returns whether something may be finished soon. */
export async function lookOnce(watching: Watching): Promise<boolean> {
  const isCheckpointWaiting = await lookAtCheckpoints(watching);
  const isFinalModelWaiting = await lookAtFinalModel(watching);
  await watching.tellUntold();
  return isFinalModelWaiting || isCheckpointWaiting;
}

/** Captures the final model when it is finished. Returns whether it may be soon. */
async function lookAtFinalModel(watching: Watching): Promise<boolean> {
  const { settler, signal, rests, clock } = watching;
  if (signal.aborted || rests.isResting(watching.watch.folder)) return false;
  const found = await watching.findFinalModel(watching.finder);
  if (found === null) return false;
  const startedAt = clock.now();
  const candidate = { ...found, step: 0 };
  const look = await lookOrRefuse(watching, candidate);
  if (look === null) return false;
  await watching.recall(candidate.path, look);
  if (watching.knows(candidate.path, look.fingerprint)) {
    rests.rest(candidate.path, clock.now() - startedAt);
    return false;
  }
  if (!(await settler.isSettled(candidate, look))) {
    const isDoubtful = settler.doubtOf(candidate.path) !== null;
    const step = isDoubtful ? await watching.stepOfFinalModel() : 0;
    if ((await takeDoubtful(watching, { candidate: { ...candidate, step }, look })) === "taken") return false;
    const isSaid = await sayUnfinished(watching, { candidate, look });
    if (isSaid) rests.rest(candidate.path, clock.now() - startedAt);
    return true;
  }
  const step = await watching.stepOfFinalModel();
  return (await take(watching, { candidate: { ...candidate, step }, look })) === "later";
}

/**
 * Returns the checkpoint that was written last: a program that begins anew counts from 0 again, and its present training
 * matters. Null: there is none.
 */
function newestOf(candidates: readonly Candidate[], recogniser: Recogniser): Candidate | null {
  let newest: { candidate: Candidate; writtenMs: number } | null = null;
  for (const candidate of candidates) {
    const verdict = recogniser.verdictOf(candidate.path);
    if (verdict === undefined || verdict.why !== null) continue;
    if (newest === null || verdict.writtenMs >= newest.writtenMs) newest = { candidate, writtenMs: verdict.writtenMs };
  }
  return newest?.candidate ?? null;
}

/** Returns what identifies a candidate: the same name with another step, or with other files, is another checkpoint. */
const identityOf = ({ path, step, kind, names }: Candidate): string => JSON.stringify([path, step, kind, names ?? []]);

async function lookAtCheckpoints(watching: Watching): Promise<boolean> {
  const { watch, settler, signal, rests, clock, recogniser } = watching;
  const candidates = await watching.finder.find();
  rests.keepOnly([watch.folder, ...candidates.map(({ path }) => path)]);
  recogniser.keepOnly(candidates);
  let finished: { candidate: Candidate; look: Look }[] = [];
  const looked = new Map<string, Look>();
  let isWaiting = false;
  for (const candidate of inOrderOfEvidence(candidates)) {
    if (signal.aborted) return false;
    if (rests.isResting(candidate.path)) continue;
    const startedAt = clock.now();
    const look = await lookOrRefuse(watching, candidate);
    if (look === null) continue;
    await watching.recall(candidate.path, look);
    if (watching.isLeft(candidate.path, look.fingerprint)) {
      rests.rest(candidate.path, clock.now() - startedAt);
      continue;
    }
    const { why, isForeign } = await recogniser.judge(candidate, look);
    if (why !== null && look.files.length > 0) {
      if (isForeign !== true) await watching.onOther(candidate, { look, why });
      rests.rest(candidate.path, clock.now() - startedAt);
      continue;
    }
    looked.set(candidate.path, look);
    const isKnown = watching.knows(candidate.path, look.fingerprint);
    await watching.onLooked(candidate, { look, isKnown });
    if (isKnown) {
      rests.rest(candidate.path, clock.now() - startedAt);
      continue;
    }
    if (await settler.isSettled(candidate, look)) finished.push({ candidate, look });
    else if ((await takeDoubtful(watching, { candidate, look })) !== "taken") {
      isWaiting = true;
      const isSaid = await sayUnfinished(watching, { candidate, look });
      // It may stay unfinished for ever, so reading it over and over must not cost much.
      if (isSaid) rests.rest(candidate.path, clock.now() - startedAt);
    }
  }
  const newest = newestOf(candidates, recogniser);
  const newestLook = newest === null ? undefined : looked.get(newest.path);
  if (newest !== null && newestLook !== undefined) watching.onSeen(newest, newestLook);
  if (finished.length === 0) return isWaiting;
  // An earlier walk read the step from a file that may have been rewritten since.
  const anew = new Set((await watching.finder.findAnew()).map(identityOf));
  const known = finished.length;
  finished = finished.filter(({ candidate }) => anew.has(identityOf(candidate)));
  isWaiting ||= finished.length < known;
  finished.sort((a, b) => a.look.newestMs - b.look.newestMs || a.candidate.step - b.candidate.step);
  for (let taken = finished.pop(); taken !== undefined; taken = finished.pop()) {
    const outcome = await take(watching, taken);
    if (outcome === "refused") continue;
    if (outcome === "taken")
      for (const { candidate, look } of finished)
        if (!watching.isLeft(candidate.path, look.fingerprint)) await watching.onPassedOver(candidate, look);
    return isWaiting || outcome === "later";
  }
  return isWaiting;
}

/** Reports a checkpoint that nobody writes any more, so that a person knows it will not be safe. Returns whether it did. */
async function sayUnfinished(watching: Watching, about: { candidate: Candidate; look: Look }): Promise<boolean> {
  const { candidate, look } = about;
  const why = watching.settler.whyUnfinished(candidate.path);
  if (why === null) return false;
  const fault = new Fault("NOT_FINISHED", { op: "capture", subject: candidate.path, detail: why });
  await watching.onRefused(candidate, { look, fault });
  return true;
}

/** Captures a checkpoint that looks unfinished and was quiet for so long that it most likely stays so. */
async function takeDoubtful(
  watching: Watching,
  { candidate, look }: { candidate: Candidate; look: Look },
): Promise<"taken" | "refused" | "later"> {
  const doubt = watching.settler.doubtOf(candidate.path);
  if (doubt === null || !watching.takesDoubtful()) return "later";
  return take(watching, { candidate: { ...candidate, doubt }, look });
}

/** Captures one checkpoint. `later`: it is not finished after all, so nothing is known about older ones either. */
async function take(
  watching: Watching,
  { candidate, look }: { candidate: Candidate; look: Look },
): Promise<"taken" | "refused" | "later"> {
  const { settler, signal } = watching;
  // The preparation of the run may have decided to leave it since it was looked at.
  if (watching.isLeft(candidate.path, look.fingerprint)) return "refused";
  try {
    if (!(await watching.onFinished(candidate, look))) return "later";
    settler.forget(candidate.path);
    return "taken";
  } catch (error) {
    if (signal.aborted) return "later";
    settler.forget(candidate.path);
    if (isFault(error) && error.code === "SOURCE_CHANGED") return "later";
    await watching.onRefused(candidate, { look, fault: toFault(error, { op: "capture", subject: candidate.path }) });
    return "refused";
  }
}

async function lookOrRefuse(watching: Watching, candidate: Candidate): Promise<Look | null> {
  try {
    return await lookAt(candidate);
  } catch (error) {
    await watching.onRefused(candidate, { look: null, fault: toFault(error) });
    return null;
  }
}
