import { tmpdir } from "node:os";
import type { Agent } from "../agent/agent-assemble.ts";
import type { Place } from "../agent/agent.ts";
import type { Watch } from "../capture/watch.ts";
import { lockWatched } from "./lock-watched.ts";
import { claimPatiently } from "./prepare.ts";
import { endOrphans, findOrphans, orphanFault, nameOf, waitForOrphans } from "../program/settle-orphans.ts";
import type { OrphanPolicy, Orphans } from "../program/settle-orphans.ts";

/** How a start treats a program that an earlier start left running. */
export interface Orphan {
  policy: OrphanPolicy;
  /** Time between TERM and KILL. */
  patienceMs: number;
  /** Orphans whose end this start waits for. */
  awaited: Orphans | null;
}

export const foldersOf = (watches: readonly Watch[]): string[] => watches.map(({ folder }) => folder);

/**
 * Ensures, before anything else happens, that no other program writes to the watched folders. Returns the function that
 * releases them. @throws Fault FOLDER_IN_USE (another `tidemark run`), PROGRAM_RUNS_STILL, CANCELLED
 */
export async function takePlaceAlone(
  { state, watches, reporter }: Place,
  orphan: Orphan,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const { policy, patienceMs } = orphan;
  const folders = foldersOf(watches);
  const release = await lockWatched(folders, tmpdir());
  try {
    const orphans = await findOrphans(state, folders);
    if (orphans.processes.length === 0) return release;
    if (policy === "refuse") throw orphanFault(orphans);
    if (policy === "end") await endOrphans(orphans, { patienceMs, reporter, signal });
    else {
      const pids = orphans.processes.map(({ pid }) => pid);
      reporter.orphanFound({ name: nameOf(orphans), pids, policy, patienceMs });
      orphan.awaited = orphans;
    }
    return release;
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * Uploads the checkpoints of a program that an earlier start left running, until the program ends. They are captured only
 * while this node is still the writer of the epoch in which that program was started.
 */
export async function goOnBeside(agent: Agent, orphans: Orphans, stopping: AbortSignal): Promise<void> {
  const { reporter, prepared, epochsBefore } = agent;
  const signal = AbortSignal.any([stopping, agent.signal]);
  const over = waitForOrphans(orphans, { reporter, signal }).catch(() => undefined);
  const taken: Watch[] = [];
  for (const watch of agent.options.watches) {
    const asked = claimPatiently(agent, { run: watch.run, isAgain: false, chosen: { kind: "newest" } });
    asked.catch(() => undefined);
    const held = await Promise.race([asked, over]);
    if (held === undefined || epochsBefore.get(watch.run) !== held.claim.epoch) continue;
    prepared.add(watch.run);
    taken.push(watch);
  }
  await over;
  // The next preparation then treats its checkpoints as after any other end.
  for (const { run } of taken) prepared.delete(run);
}
