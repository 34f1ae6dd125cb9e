import { Fault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import { ENDED_UNSAFE } from "#protocol/wire/reports.ts";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "../agent/agent-assemble.ts";
import { codeOf } from "../base/disk-fault.ts";
import {
  findUntaken,
  notEnteredFaults,
  untakenReason,
  untakenWords,
  type Untaken,
} from "../capture/detection/untaken.ts";
import { findFinal, findLeft } from "../capture/detection/look-over.ts";
import { createFinder } from "../capture/detection/walk-watched.ts";
import type { Watch } from "../capture/watch.ts";
import { readLocalCheckpoints } from "../agent/local-checkpoints.ts";

/** A watched folder from which nothing was captured, with the files that the program wrote there. */
export interface NothingTaken {
  run: RunName;
  folder: string;
  untaken: Untaken;
  /** Some of the files looked like a checkpoint, but were refused. */
  isRefused: boolean;
}

/**
 * Returns the watched folders from which nothing was captured since the program started, although it wrote files there. Reports
 * them on the console and to the hub, and of all other folders the files that the program left there beside what was captured.
 * @throws Fault NO_SPACE, WRITE_FAILED
 */
export async function tellNothingTaken(
  agent: Pick<
    Agent,
    "options" | "ledger" | "savedRuns" | "watchedSince" | "outbox" | "reporter" | "session" | "leftOut"
  >,
  startedAt: number,
): Promise<NothingTaken[]> {
  const { options, ledger, savedRuns, outbox, reporter, session } = agent;
  const found: NothingTaken[] = [];
  for (const watch of options.watches) {
    const { run, folder } = watch;
    if (savedRuns.has(run) || ledger.all().some((item) => item.run === run)) {
      await tellLeft(agent, watch, startedAt);
      continue;
    }
    // Counts all files, because those that look like a checkpoint but were not captured are not safe either.
    const untaken = await findUntaken(watch, [], { since: startedAt, isOver: true });
    await tellNotEntered(agent, watch, untaken);
    if (untaken.files === 0) {
      if (untaken.small.files > 0) reporter.leftAtEnd({ run, folder, untaken });
      continue;
    }
    const left = await readLeft(agent, watch, startedAt);
    const isRefused = left !== null && left.files < untaken.files;
    const nothing = { run, folder, untaken, isRefused };
    found.push(nothing);
    reporter.nothingTaken(nothing);
    const path = join(folder, untaken.largest[0]?.path ?? "");
    const detail = `the program ended and nothing that it wrote is safe (${untakenWords(untaken)})`;
    const fault = new Fault("NO_CHECKPOINT", { op: ENDED_UNSAFE, subject: path, detail });
    // An older hub rejects this Fault code, which would block all later events of the outbox.
    if (session.knows("no-checkpoint") !== true) continue;
    await outbox.add({ type: "capture-refused", run, path: path.slice(-1024), fault: fault.toData() });
  }
  return found;
}

/** Returns the files of the program that belong to no checkpoint and to no final model; null when they cannot be read. */
async function readLeft(
  { ledger, watchedSince }: Pick<Agent, "ledger" | "watchedSince">,
  watch: Watch,
  since: number,
): Promise<Untaken | null> {
  const { run, takes } = watch;
  const finder = createFinder(watch, takes);
  try {
    await finder.find();
    const captured = ledger.all().filter((item) => item.run === run && item.role === undefined);
    const at = Math.max(ledger.safe(run)?.at ?? 0, ...captured.map(({ capturedAt }) => capturedAt));
    const newestCheckpointMs = at === 0 ? null : at;
    const began = watchedSince.get(run) ?? 0;
    const request = { newestCheckpointMs, now: Date.now(), quietMs: 0, watchedSince: began };
    const final = await findFinal({ watch, finder }, request);
    return await findLeft({ watch, finder }, { final, since });
  } catch {
    return null;
  }
}

/** Tells what the program wrote beside its checkpoints and nothing keeps safe. */
async function tellLeft(
  agent: Pick<Agent, "ledger" | "watchedSince" | "outbox" | "reporter" | "session" | "leftOut">,
  watch: Watch,
  since: number,
): Promise<void> {
  const { outbox, reporter, session, leftOut } = agent;
  const { run, folder } = watch;
  const untaken = await readLeft(agent, watch, since);
  if (untaken === null) return;
  await tellNotEntered(agent, watch, untaken);
  const [largest] = untaken.largest;
  if (largest !== undefined || untaken.small.files > 0) reporter.leftAtEnd({ run, folder, untaken });
  if (largest === undefined) return;
  const path = join(folder, largest.path);
  // The watcher may have told it already; an older hub rejects the code.
  if (leftOut.has(path) || session.knows("no-checkpoint") !== true) return;
  const detail = `${untakenReason(untaken)} (${untakenWords(untaken)})`;
  const fault = new Fault("NO_CHECKPOINT", { op: "capture", subject: path, detail });
  await outbox.add({ type: "capture-refused", run, path: path.slice(-1024), fault: fault.toData() });
}

/** Tells where a folder was too large to look through, unless the watcher has told it already. */
async function tellNotEntered(
  { outbox, reporter, session, leftOut }: Pick<Agent, "outbox" | "reporter" | "session" | "leftOut">,
  { run, folder }: Watch,
  untaken: Untaken,
): Promise<void> {
  for (const fault of notEnteredFaults(folder, untaken)) {
    const path = fault.context.subject;
    if (path === undefined || leftOut.has(path)) continue;
    reporter.refused({ path }, fault);
    if (session.knows("no-checkpoint") !== true) continue;
    await outbox.add({ type: "capture-refused", run, path: path.slice(-1024), fault: fault.toData() });
  }
}

/**
 * Tells whether everything that the program wrote is safe: no capture is left unsafe, no checkpoint was refused, and each
 * run has a safe checkpoint. It is false for a run without a safe checkpoint, even if the program wrote nothing.
 */
export async function isAllSafe(agent: SafetyParts, nothingTaken: readonly NothingTaken[]): Promise<boolean> {
  const { options, ledger, savedRuns } = agent;
  if (!(await isNothingLeft(agent, nothingTaken))) return false;
  return options.watches.every(({ run }) => savedRuns.has(run) || ledger.safe(run) !== null);
}

/** Tells whether nothing that the program wrote is unsafe. It may have written nothing. */
export async function isNothingLeft(agent: SafetyParts, nothingTaken: readonly NothingTaken[]): Promise<boolean> {
  const { options, ledger, doubtful } = agent;
  for (const watch of options.watches) if (await hasRefused(agent, watch)) return false;
  return options.watches.every(
    ({ run }) =>
      !nothingTaken.some((one) => one.run === run) &&
      doubtful.unresolved(run).length === 0 &&
      ledger.piece(run) === null &&
      // Safe and superseded captures remain in the ledger for a moment.
      !ledger.all().some((item) => item.run === run && item.state !== "done" && item.state !== "superseded"),
  );
}

export type SafetyParts = Pick<
  Agent,
  "options" | "ledger" | "savedRuns" | "doubtful" | "watchedSince" | "laidBefore" | "refused"
>;

/**
 * Tells whether the folder has a checkpoint that changed since the start and was refused, or was neither captured nor skipped
 * for a newer one. Fingerprints are compared, not times, because the disk may have another clock (NFS).
 */
async function hasRefused(agent: SafetyParts, watch: Watch): Promise<boolean> {
  const { ledger, watchedSince, laidBefore, refused } = agent;
  for (const [path, { run, fingerprint }] of refused) {
    const isOld = fingerprint !== null && laidBefore.get(path) === fingerprint;
    if (run === watch.run && !isOld && (await mayLieThere(path))) return true;
  }
  const evidence = {
    knows: ledger.knows,
    isRestored: ledger.isRestored,
    isUnfinished: ledger.isUnfinished,
    watchedSince: watchedSince.get(watch.run) ?? 0,
  };
  // An unreadable folder may hold anything, so it counts as not safe.
  const local = await readLocalCheckpoints(watch, evidence).catch(() => null);
  if (local === null) return true;
  return local.some(
    ({ path, fingerprint, isKnown, content }) =>
      !isKnown && content !== "empty" && laidBefore.get(path) !== fingerprint,
  );
}

/** Tells whether a path may still exist: programs remove their older checkpoints, including refused ones. */
const mayLieThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => !["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? ""),
  );
