import type * as z from "zod";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { flushInput, LocalState } from "#protocol/local-api/local.ts";
import type { Agent } from "../agent-assemble.ts";
import { capturingOf } from "../agent-capture.ts";
import { isUnsafe } from "#worker/upload/backlog.ts";
import { takeFinished } from "#worker/capture/keep-capturing.ts";
import type { Watch } from "#worker/capture/watch.ts";
import { faultOf } from "./save-now.ts";

/**
 * Works as a barrier: captures what is finished in the watched folders by now, and returns when all of it is safe. A checkpoint
 * that may still change is awaited until it was quiet for the settle time, half a minute at most. A capture that a newer one
 * supersedes counts as safe when the newer one is. Later captures are not awaited. Faults: NOT_SAFE_YET when the time is over,
 * those of captures that were refused or failed.
 */
export async function flush(agent: Agent, input: z.infer<typeof flushInput>, signal: AbortSignal): Promise<LocalState> {
  const { ledger, ends, options } = agent;
  const isMeant = (run: string) => input.run === undefined || input.run === run;
  const overdue = input.timeoutMs === undefined ? null : AbortSignal.timeout(input.timeoutMs);
  const until = overdue === null ? signal : AbortSignal.any([signal, overdue]);
  const isOverdue = () => overdue?.aborted === true && !signal.aborted;
  for (const watch of options.watches.filter(({ run }) => isMeant(run))) {
    await takeAll(agent, { watch, until }).catch((error: unknown) => {
      if (!isOverdue() || !isFault(error) || error.code !== "CANCELLED") throw error;
      const detail = `what was written to ${watch.folder} last may go on changing`;
      throw new Fault("NOT_SAFE_YET", { op: "flush", detail });
    });
  }
  const open = () => ledger.all().filter((item) => isMeant(item.run) && isUnsafe(item));

  const wanted = new Set(open().map(({ id }) => id));
  for (const id of wanted) {
    const failed = ledger.get(id);
    if (failed?.state === "failed") throw faultOf(failed);
    const ended = await ends.of(id, until).catch((error: unknown) => {
      if (!isOverdue()) throw error;
      const left = open().filter((item) => wanted.has(item.id)).length;
      throw new Fault("NOT_SAFE_YET", { op: "flush", detail: `${left} of ${wanted.size} checkpoints are missing` });
    });
    // The set grows during this iteration: the newer capture is awaited next.
    if (ended.state === "superseded") {
      const newest = open().findLast(({ run }) => run === ended.run);
      if (newest !== undefined) wanted.add(newest.id);
    } else if (ended.state !== "done") throw faultOf(ended);
  }
  // Counts only the awaited captures; later ones, or those of other runs, may still be unsafe.
  return { pending: 0, error: null };
}

/** Captures what is finished by now in every watched folder. Faults: those of refused captures. */
export async function takeAllFinished(agent: Agent): Promise<void> {
  for (const watch of agent.options.watches) await takeAll(agent, { watch, until: agent.signal });
}

async function takeAll(agent: Agent, { watch, until }: { watch: Watch; until: AbortSignal }): Promise<void> {
  const refused: Fault[] = [];
  const capturing = capturingOf(agent, watch);
  const onRefused: typeof capturing.onRefused = (candidate, fault, look) => {
    capturing.onRefused(candidate, fault, look);
    // A folder that is no checkpoint does not make the barrier fail.
    if (fault.code !== "NO_CHECKPOINT") refused.push(fault);
  };
  await takeFinished({ ...capturing, onRefused }, until);
  const [first] = refused;
  if (first !== undefined) throw first;
}
