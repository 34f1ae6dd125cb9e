import { isFault } from "#protocol/faults/fault.ts";
import type { Agent } from "../agent/agent-assemble.ts";
import type { ResumePoint } from "./prepare.ts";

/** A program that has worked this long did not fail because of what it was given. */
const AT_ONCE_MS = 2 * 60_000;

/**
 * Says which complete step comes before the one that a program was given, when it failed at once: within two minutes, before
 * it wrote a checkpoint or said a step. A hub that is away, or too old to tell, is passed over in silence.
 */
export async function offerBefore(
  agent: Pick<Agent, "hub" | "ledger" | "training" | "runs" | "narrator" | "signal">,
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
    agent.narrator.failedAtOnce({ run, step, code: end.code, ranMs: end.ranMs, before });
  }
}

/** Null: there is none. Undefined: nobody can say. */
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
    // An older hub answers with the newest.
    return found.isBefore === true ? found.step : undefined;
  } catch (error) {
    if (isFault(error)) return undefined;
    throw error;
  }
}
