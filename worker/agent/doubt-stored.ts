import { toFault } from "#protocol/faults/fault.ts";
import type { RunName } from "#protocol/base/names.ts";
import { systemClock } from "../base/clock.ts";
import type { Agent } from "./agent-assemble.ts";

/** Doubts committed checkpoints of which this node learned later that files are missing. */

type Parts = Pick<Agent, "hub" | "session" | "ledger" | "reporter" | "doubtful">;

/**
 * Withdraws the safe state of a committed checkpoint, prints a message, and tells the hub or the bucket. A report that
 * fails is repeated later, also after a restart. Ignores a checkpoint that was doubted before. Faults: NO_SPACE,
 * WRITE_FAILED.
 */
export async function doubtStored(
  parts: Parts,
  about: { run: RunName; checkpointId: string; step: number; why: string },
): Promise<void> {
  const { ledger, session, reporter, doubtful } = parts;
  if (session.knows("late-doubt") !== true) return;
  const safe = ledger.safe(about.run);
  // A later safe checkpoint replaces it, so the run need not be reported as unsafe.
  const at = safe?.checkpointId === about.checkpointId ? safe.at : NEVER;
  if (!doubtful.noteLate({ ...about, at })) return;
  await ledger.oweDoubt(about);
  reporter.doubtedLate(about);
  void tellDoubts(parts);
}

/** Before any checkpoint, epoch ms. */
const NEVER = -1;

const telling = new WeakSet<object>();

/** Sends the doubts that were not acknowledged yet. Temporary faults leave them for the next time. Never throws. */
export async function tellDoubts({ hub, ledger, reporter }: Omit<Parts, "doubtful" | "session">): Promise<void> {
  if (telling.has(ledger)) return;
  telling.add(ledger);
  try {
    for (const [checkpointId, why] of ledger.owedDoubts()) {
      try {
        await hub.ask("doubt", (client, signal) => client.node.doubt.mutate({ checkpointId, why }, { signal }));
      } catch (error) {
        const fault = toFault(error, { op: "doubt", subject: checkpointId });
        reporter.waitingFor(fault);
        if (fault.retry !== "never") continue;
      }
      await ledger.settleDoubt(checkpointId);
    }
  } catch (error) {
    // The disk is most likely full; the doubt is sent once more, which changes nothing.
    reporter.waitingFor(error);
  } finally {
    telling.delete(ledger);
  }
}

const AGAIN_MS = 5_000;

/** Sends unacknowledged doubts again until the signal of the agent fires. */
export async function keepTellingDoubts(
  agent: Omit<Parts, "doubtful" | "session"> & Pick<Agent, "signal">,
): Promise<void> {
  const { signal } = agent;
  while (!signal.aborted) {
    await tellDoubts(agent);
    await systemClock.sleep(AGAIN_MS, signal).catch(() => undefined);
  }
}
