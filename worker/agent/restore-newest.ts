import { isDamage } from "#protocol/checkpoint/damage.ts";
import { isFault, sentenceOf } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import type { ShownPlace } from "#protocol/checkpoint/place.ts";
import type { Agent } from "./agent-assemble.ts";
import type { Origin } from "../restore/restore-job.ts";
import { systemClock } from "../base/clock.ts";

interface Found {
  checkpointId: string;
  step: number;
  /** Epoch ms by the store's clock. */
  capturedAt: number;
  place?: ShownPlace;
}

/** The outbox tells the hub of the damage within seconds, so the hub is asked only for a while. */
const LOOK_MS = 500;
const MOST_LOOKS = 60;

/**
 * Restores a checkpoint of a run that this node writes. With `mayFallBack`, a damaged one is replaced by the one before it, and
 * a message says so. Otherwise, or when there is none, the fault is thrown. Faults: those of a restore.
 */
export async function restoreNewest(
  agent: Pick<Agent, "hub" | "restorer" | "reporter" | "signal">,
  wanted: {
    run: RunName;
    found: Found;
    pathOf(found: Found): string | Promise<string>;
    filesOf?(found: Found): Promise<string[] | null>;
    tensors?: string[];
    mayFallBack: boolean;
    mayLeaveOut?: true;
  },
): Promise<Found & { path: string; origin: Origin | null }> {
  const { run, pathOf, filesOf } = wanted;
  for (let { found } = wanted; ;) {
    const path = await pathOf(found);
    const files = (await filesOf?.(found)) ?? null;
    try {
      const { checkpointId, step } = found;
      const origin = await agent.restorer.restoreFirst({
        checkpointId,
        run,
        step,
        targetPath: path,
        ...(files === null ? {} : { files }),
        ...(wanted.tensors === undefined ? {} : { tensors: wanted.tensors }),
        ...(wanted.mayLeaveOut === true && { mayLeaveOut: true }),
      });
      return { ...found, path, origin };
    } catch (error) {
      if (!wanted.mayFallBack || !isFault(error) || !isDamage(error.code)) throw error;
      const next = await findOther(agent, run, found);
      if (next === null) throw error;
      agent.reporter.fallingBack({ run, step: next.step, from: found.step, why: sentenceOf(error.toData()) });
      found = next;
    }
  }
}

/** Asks the hub until its newest checkpoint is another one; null when it still is the same, or when there is none. */
async function findOther(
  { hub, signal }: Pick<Agent, "hub" | "signal">,
  run: RunName,
  found: Found,
): Promise<Found | null> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const other = await hub.ask("findCheckpoint", (client, limit) =>
      client.node.findCheckpoint.query({ run }, { signal: limit }),
    );
    if (other === null) return null;
    if (other.checkpointId !== found.checkpointId) return other;
    await systemClock.sleep(LOOK_MS, signal);
  }
  return null;
}
