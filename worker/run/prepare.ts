import { join } from "node:path";
import { Fault, isFault, toFault } from "#protocol/fault.ts";
import type { ClaimAnswer } from "#protocol/hello.ts";
import type { RunName } from "#protocol/names.ts";
import type { Agent } from "../agent-assemble.ts";
import { jitter } from "../engine/breaker.ts";
import { systemClock } from "../engine/clock.ts";
import { isFatal } from "../link/stream.ts";
import { restoreNewest } from "../restore/restore-newest.ts";
import type { Watch } from "../upload/watch.ts";
import { chooseResume } from "./choose-resume.ts";
import { reportLoss } from "../loss/report-loss.ts";
import { readLocalCheckpoints, setAside, writtenAt } from "./local-checkpoints.ts";

/** Where a run goes on from; null: from its start. */
export interface ResumePoint {
  run: string;
  path: string;
  step: number;
}

/**
 * Puts the newest complete checkpoint of every watched run in place, and takes out of the way what the program must not go
 * on from. A hub that is away is waited for: that nobody answers does not mean that there is nothing.
 * Faults: EPOCH_OVER, NODE_UNKNOWN, NODE_REVOKED, those of a restore, CANCELLED.
 */
export async function prepareRuns(agent: Agent): Promise<ResumePoint[]> {
  const points: ResumePoint[] = [];
  for (const watch of agent.options.watches) {
    const point = await prepareRun(agent, watch);
    if (point !== null) points.push(point);
  }
  return points;
}

async function prepareRun(agent: Agent, watch: Watch): Promise<ResumePoint | null> {
  const { ledger, narrator, epochsBefore } = agent;
  const { run, folder } = watch;
  const claim = await claimPatiently(agent, run);
  const local = await readLocalCheckpoints(watch, ledger.knows);
  // After a restart of the program in this life, what was written here since is of the present epoch too.
  const isSameEpoch = epochsBefore.get(run) === claim.epoch || agent.prepared.has(run);
  const { from, setAside: unwanted } = chooseResume({ newest: claim.newest, isSameEpoch, local });
  for (const { path, state } of unwanted) narrator.setAside({ path, place: await setAside(path), state });
  agent.prepared.add(run);
  const at = from.kind === "local" ? await writtenAt(from.path) : (claim.newest?.capturedAt ?? 0);
  // What was lost is history; that it cannot be written down (a full disk) keeps nobody from training.
  await reportLoss(agent, { run, claim, from: from.kind === "start" ? null : { step: from.step, at } }).catch(
    narrator.waitingFor,
  );
  renewRecord(agent, run);
  if (from.kind === "start") {
    narrator.resuming({ run, step: null, path: null });
    return null;
  }
  const pathOf = (step: number) => join(folder, `checkpoint-${step}`);
  const { path, step } =
    from.kind === "local" ? from : await restoreNewest(agent, { run, found: from, pathOf, mayFallBack: true });
  narrator.resuming({ run, step, path });
  return { run, path, step };
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

/** Asks anew each time: the newest checkpoint changes while the run goes on. */
async function claimPatiently({ runs, narrator, signal }: Agent, run: string): Promise<ClaimAnswer> {
  for (let tries = 0; ; tries++) {
    if (signal.aborted) throw new Fault("CANCELLED", { op: "run", subject: run });
    try {
      return await runs.askAnew(run);
    } catch (error) {
      const fault = toFault(error, { op: "claimEpoch", subject: run });
      if (isFatal(fault) || !isFault(error) || fault.retry === "never") throw fault;
      narrator.waitingFor(fault);
      await systemClock.sleep(200 + jitter(systemClock, tries), signal);
    }
  }
}
