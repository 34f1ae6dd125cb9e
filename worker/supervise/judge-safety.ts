import { Fault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import { ENDED_UNSAFE } from "#protocol/wire/reports.ts";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "../agent/agent-assemble.ts";
import { codeOf } from "../base/disk-fault.ts";
import { findUntaken, untakenWords, type Untaken } from "../capture/detection/untaken.ts";
import { findCandidates } from "../capture/detection/walk-watched.ts";
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
 * Returns the watched folders from which nothing was captured since the program started, although it wrote files there. Also
 * reports them on the console and to the hub. @throws Fault NO_SPACE, WRITE_FAILED
 */
export async function tellNothingTaken(
  agent: Pick<Agent, "options" | "ledger" | "savedRuns" | "outbox" | "reporter" | "session">,
  startedAt: number,
): Promise<NothingTaken[]> {
  const { options, ledger, savedRuns, outbox, reporter, session } = agent;
  const found: NothingTaken[] = [];
  for (const { run, folder, takes } of options.watches) {
    if (savedRuns.has(run) || ledger.all().some((item) => item.run === run)) continue;
    // Counts all files, because those that look like a checkpoint but were not captured are not safe either.
    const untaken = await findUntaken(folder, [], startedAt);
    if (untaken.files === 0) continue;
    const candidates = await findCandidates(folder, takes).catch(() => []);
    const isRefused = (await findUntaken(folder, candidates, startedAt)).files < untaken.files;
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
