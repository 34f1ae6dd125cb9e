import { byNewest } from "#protocol/checkpoint/checkpoint.ts";
import { stepSourceOf } from "#protocol/checkpoint/step-words.ts";
import type { RunName } from "#protocol/base/names.ts";
import { isFault, toFault } from "#protocol/faults/fault.ts";
import { systemClock } from "../base/clock.ts";
import { IS_HUB } from "../upload/judge-failure.ts";
import type { Agent } from "./agent-assemble.ts";

/**
 * Finds out whether the pieces of this node have become safe. A piece alone is no checkpoint: its step is safe when the hub has
 * joined the pieces of all nodes, and no commit of this node says when the last one came.
 */

type Parts = Pick<Agent, "options" | "ledger" | "hub" | "reporter">;

/** Records the newest whole checkpoint of each run whose newest piece waits for other nodes. Faults: those of the hub. */
export async function confirmPieces({ options, ledger, hub, reporter }: Parts): Promise<void> {
  for (const { run } of options.watches) {
    const piece = ledger.piece(run);
    if (piece === null) continue;
    const found = await hub.ask("findCheckpoint", (client, signal) =>
      client.node.findCheckpoint.query({ run }, { signal }),
    );
    if (found === null || !isNewer(found, ledger.safe(run))) continue;
    const { step, writerEpoch: epoch, capturedAt: at, place } = found;
    await ledger.noteSafe(run, { step, at, sizeBytes: piece.sizeBytes, epoch, source: stepSourceOf(place), place });
    reporter.piecesJoined({ run, step });
  }
}

interface Found {
  writerEpoch: number;
  step: number;
}

const isNewer = (found: Found, safe: { step: number; epoch: number | null } | null): boolean =>
  safe === null || safe.epoch === null || byNewest(found, { writerEpoch: safe.epoch, step: safe.step }) < 0;

const LOOK_MS = 1_000;

/** Confirms pieces until the signal of the agent fires. Does nothing for a node that writes alone. */
export async function keepConfirmingPieces(agent: Parts & Pick<Agent, "signal">): Promise<void> {
  const { options, signal, reporter } = agent;
  if (options.group === null) return;
  while (!signal.aborted) {
    await confirmPieces(agent).catch((error: unknown) => {
      const fault = toFault(error, { op: "findCheckpoint" });
      // An unreachable hub is reported by the link to it.
      if (!signal.aborted && !(isFault(error) && IS_HUB.has(fault.code))) reporter.waitingFor(fault);
    });
    await systemClock.sleep(LOOK_MS, signal).catch(() => undefined);
  }
}

/** Longest wait for the pieces of other nodes at the end of a program. Their uploads end at other times than ours. */
const MOST_WAIT_MS = 60_000;

/** Waits until no piece of this node waits for other nodes, for a minute at most, or until `stopping` fires. */
export async function awaitPieces(
  agent: Pick<Agent, "options" | "ledger" | "reporter">,
  stopping: AbortSignal,
): Promise<void> {
  const { options, ledger, reporter } = agent;
  const open = (): { run: RunName; step: number }[] =>
    options.watches.flatMap(({ run }) => {
      const piece = ledger.piece(run);
      return piece === null ? [] : [{ run, step: piece.step }];
    });
  if (open().length === 0) return;
  for (const one of open()) reporter.awaitingPieces({ ...one, mostMs: MOST_WAIT_MS });
  const until = AbortSignal.any([stopping, AbortSignal.timeout(MOST_WAIT_MS)]);
  while (open().length > 0 && !until.aborted) await systemClock.sleep(LOOK_MS / 4, until).catch(() => undefined);
}
