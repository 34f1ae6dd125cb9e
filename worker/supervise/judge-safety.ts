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

/** A watched folder of which nothing was captured, with the files that the program left there. */
export interface NothingTaken {
  run: RunName;
  folder: string;
  untaken: Untaken;
  /** Some of it looked like a checkpoint, and was refused. */
  isRefused: boolean;
}

/**
 * Returns the watched folders of which nothing was captured since the program started, although it wrote files there; says so
 * and tells the hub. Faults: NO_SPACE, WRITE_FAILED.
 */
export async function tellNothingTaken(
  agent: Pick<Agent, "options" | "ledger" | "savedRuns" | "outbox" | "narrator" | "session">,
  startedAt: number,
): Promise<NothingTaken[]> {
  const { options, ledger, savedRuns, outbox, narrator, session } = agent;
  const found: NothingTaken[] = [];
  for (const { run, folder, takes } of options.watches) {
    if (savedRuns.has(run) || ledger.all().some((item) => item.run === run)) continue;
    // What looked like a checkpoint and was not captured is as little safe as the rest.
    const untaken = await findUntaken(folder, [], startedAt);
    if (untaken.files === 0) continue;
    const candidates = await findCandidates(folder, takes).catch(() => []);
    const isRefused = (await findUntaken(folder, candidates, startedAt)).files < untaken.files;
    const nothing = { run, folder, untaken, isRefused };
    found.push(nothing);
    narrator.nothingTaken(nothing);
    const path = join(folder, untaken.largest[0]?.path ?? "");
    const detail = `the program ended and nothing that it wrote is safe (${untakenWords(untaken)})`;
    const fault = new Fault("NO_CHECKPOINT", { op: ENDED_UNSAFE, subject: path, detail });
    // An older hub does not know the code, and would refuse all that stands behind it in the outbox.
    if (session.knows("no-checkpoint") !== true) continue;
    await outbox.add({ type: "capture-refused", run, path: path.slice(-1024), fault: fault.toData() });
  }
  return found;
}

/**
 * Returns whether all that the program left is safe: every capture ended as safe, no checkpoint that it wrote was refused, and there is a
 * checkpoint that is safe, or a folder that it wrote nothing to.
 */
export async function isAllSafe(agent: SafetyParts, nothingTaken: readonly NothingTaken[]): Promise<boolean> {
  const { options, ledger, savedRuns } = agent;
  for (const watch of options.watches) if (await hasRefused(agent, watch)) return false;
  return options.watches.every(({ run }) => {
    if (nothingTaken.some((one) => one.run === run)) return false;
    // A capture that is safe, or that was superseded, leaves the queue a moment later.
    if (ledger.all().some((item) => item.run === run && item.state !== "done" && item.state !== "superseded"))
      return false;
    return savedRuns.has(run) || ledger.safe(run) !== null;
  });
}

type SafetyParts = Pick<Agent, "options" | "ledger" | "savedRuns" | "watchedSince" | "laidBefore" | "refused">;

/**
 * Returns whether a checkpoint lies there that was refused, or was neither captured nor passed over for a newer one, and is not as it
 * was before the start. No times are compared: the clock of the disk may not be ours.
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
    watchedSince: watchedSince.get(watch.run) ?? 0,
  };
  // Nobody knows what lies in a folder that cannot be read.
  const local = await readLocalCheckpoints(watch, evidence).catch(() => null);
  if (local === null) return true;
  return local.some(
    ({ path, fingerprint, isKnown, content }) =>
      !isKnown && content !== "empty" && laidBefore.get(path) !== fingerprint,
  );
}

/** Programs remove their own older checkpoints, also those that were refused. */
const mayLieThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => !["ENOENT", "ENOTDIR"].includes(codeOf(error) ?? ""),
  );
