import { Fault } from "#protocol/fault.ts";
import type { RunName } from "#protocol/names.ts";
import { ENDED_UNSAFE } from "#protocol/reports.ts";
import { join } from "node:path";
import type { Agent } from "../agent-assemble.ts";
import { findUntaken, untakenWords, type Untaken } from "../upload/untaken.ts";
import { findCandidates } from "../upload/walk-watched.ts";
import type { Watch } from "../upload/watch.ts";
import { readLocalCheckpoints } from "./local-checkpoints.ts";

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
export async function isAllSafe(
  agent: Pick<Agent, "options" | "ledger" | "savedRuns" | "watchedSince">,
  { nothingTaken, startedAt }: { nothingTaken: readonly NothingTaken[]; startedAt: number },
): Promise<boolean> {
  const { options, ledger, savedRuns } = agent;
  for (const watch of options.watches) if (await hasRefused(agent, watch, startedAt)) return false;
  return options.watches.every(({ run }) => {
    if (nothingTaken.some((one) => one.run === run)) return false;
    // A capture that is safe, or that was superseded, leaves the queue a moment later.
    if (ledger.all().some((item) => item.run === run && item.state !== "done" && item.state !== "superseded"))
      return false;
    return savedRuns.has(run) || ledger.safe(run) !== null;
  });
}

/** Returns whether a checkpoint of this start lies there that was neither captured nor passed over for a newer one (a full disk). */
async function hasRefused(
  { ledger, watchedSince }: Pick<Agent, "ledger" | "watchedSince">,
  watch: Watch,
  startedAt: number,
): Promise<boolean> {
  const evidence = {
    knows: ledger.knows,
    isRestored: ledger.isRestored,
    watchedSince: watchedSince.get(watch.run) ?? 0,
  };
  // What cannot be read was refused, and said.
  const local = await readLocalCheckpoints(watch, evidence).catch(() => []);
  return local.some(({ isKnown, writtenAt, content }) => !isKnown && content !== "empty" && writtenAt >= startedAt);
}
