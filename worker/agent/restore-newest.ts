import { isDamage } from "#protocol/checkpoint/damage.ts";
import { isArchivedCode, isFault, sentenceOf, type Fault } from "#protocol/faults/fault.ts";
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

/** A checkpoint that was passed over for an older one. */
export interface PassedOver {
  step: number;
  why: "damaged" | "archived";
}

/**
 * Restores a checkpoint of a run that this node writes. With `mayFallBack`, a damaged one is replaced by the one before it, an
 * archived one by the newest that can be read now, and a message says so. Otherwise, or when there is none, the fault is
 * thrown. Faults: those of a restore.
 */
export async function restoreNewest(
  agent: Pick<Agent, "hub" | "restorer" | "reporter" | "signal">,
  wanted: {
    run: RunName;
    found: Found;
    pathOf(found: Found): string | Promise<string>;
    filesOf?(found: Found): Promise<string[] | null>;
    tensors?: string[];
    /** `if-damaged`: a person chose this one, so that an archived one has to be restored in the store first. */
    mayFallBack: boolean | "if-damaged";
    mayLeaveOut?: true;
  },
): Promise<Found & { path: string; origin: Origin | null; passedOver: PassedOver | null }> {
  const { run, pathOf, filesOf } = wanted;
  let passedOver: PassedOver | null = null;
  /** Fault of the first archived one, which the others are not better than. */
  let archived: Fault | null = null;
  const tried = new Set<string>();
  for (let { found } = wanted; ;) {
    const path = await pathOf(found);
    const files = (await filesOf?.(found)) ?? null;
    const { checkpointId, step } = found;
    tried.add(checkpointId);
    try {
      const origin = await agent.restorer.restoreFirst({
        checkpointId,
        run,
        step,
        targetPath: path,
        ...(files === null ? {} : { files }),
        ...(wanted.tensors === undefined ? {} : { tensors: wanted.tensors }),
        ...(wanted.mayLeaveOut === true && { mayLeaveOut: true }),
      });
      return { ...found, path, origin, passedOver };
    } catch (error) {
      if (!isFault(error)) throw error;
      const isArchived = isArchivedCode(error.code);
      if (isArchived) archived ??= error;
      const mayFallBack = isArchived
        ? wanted.mayFallBack === true
        : wanted.mayFallBack !== false && isDamage(error.code);
      const next = mayFallBack ? await (isArchived ? findBefore : findOther)(agent, run, found) : null;
      // Several epochs may have written one step, so that the step alone may lead back.
      if (next === null || tried.has(next.checkpointId)) throw archived ?? error;
      agent.reporter.fallingBack({ run, step: next.step, from: step, why: sentenceOf(error.toData()) });
      passedOver ??= { step, why: isArchived ? "archived" : "damaged" };
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

/** Returns the newest checkpoint before this one, in which the hub sees no flaw; null when there is none. */
async function findBefore({ hub }: Pick<Agent, "hub">, run: RunName, found: Found): Promise<Found | null> {
  const other = await hub.ask("findCheckpoint", (client, limit) =>
    client.node.findCheckpoint.query({ run, before: found.step }, { signal: limit }),
  );
  // A hub that does not know `before` answers with the newest.
  return other?.isBefore === true ? other : null;
}
