import { isFault } from "#protocol/faults/fault.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import type { ResumePoint } from "../agent/choose-resume.ts";

/** A program that has run this long did not fail because of its checkpoint. */
const AT_ONCE_MS = 2 * 60_000;

/**
 * Reports the complete step before the one that a program resumed from, if the program failed at once: within two minutes,
 * before it wrote a checkpoint or reported a further step. Reports nothing if the hub is not reachable or too old.
 */
export async function offerBefore(
  agent: Pick<Agent, "hub" | "ledger" | "training" | "runs" | "reporter" | "signal">,
  points: readonly ResumePoint[],
  end: { code: number; ranMs: number; startedAt: number },
): Promise<void> {
  if (end.ranMs > AT_ONCE_MS) return;
  for (const { run, step } of points) {
    const wrote = agent.ledger.all().some((item) => item.run === run && item.capturedAt >= end.startedAt);
    const trained = agent.training.of(run, agent.runs.get(run)?.claim?.epoch ?? null);
    if (wrote || (trained !== null && trained.step > step)) continue;
    const before = await findBefore(agent, run, step);
    if (before === undefined) continue;
    agent.reporter.failedAtOnce({ run, step, code: end.code, ranMs: end.ranMs, before });
  }
}

/** Returns the complete step before `step`; null if there is none, undefined if the hub cannot tell. */
async function findBefore(
  { hub }: Pick<Agent, "hub">,
  run: ResumePoint["run"],
  step: number,
): Promise<number | null | undefined> {
  try {
    const found = await hub.ask("findCheckpoint", (client, signal) =>
      client.node.findCheckpoint.query({ run, before: step }, { signal }),
    );
    if (found === null) return null;
    // An older hub ignores `before` and answers with the newest checkpoint.
    return found.isBefore === true ? found.step : undefined;
  } catch (error) {
    if (isFault(error)) return undefined;
    throw error;
  }
}
