import type { MovingCommand } from "#protocol/wire/commands.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import type { TransferDirection } from "#protocol/wire/transfer.ts";
import type { Engine } from "../transfer/engine.ts";
import { movementOf, stalledMsOf } from "../transfer/progress/movement-of.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { isOwn, type Taken } from "../hub-link/command-memory.ts";

/** A command that moves data, which this node shows as a transfer. */
export type Moving = Taken & { command: MovingCommand };

export const directionOf = ({ kind }: Pick<MovingCommand, "kind">): TransferDirection =>
  kind === "restore" ? "download" : kind;

export const startedByOf = (command: MovingCommand): "start" | "operator" => (isOwn(command) ? "start" : "operator");

/** Returns the progress of a transfer for the hub. `counters` is null unless the transfer is running. */
export function progressOf(item: Moving, counters: ProgressCounters | null, engine: Engine | null): TransferProgress {
  const { command } = item;
  const direction = directionOf(command);
  return {
    id: command.transferId,
    direction,
    state: item.state,
    checkpointId: command.checkpointId,
    run: command.run,
    step: command.step,
    ...movementOf(counters, engine),
    bytesTotal: counters?.bytesTotal ?? 0,
    filesTotal: counters?.filesTotal ?? 0,
    startedAt: Math.round(item.at),
    retries: counters?.retries ?? 0,
    triedAgain: counters?.triedAgain() ?? [],
    // A verification pauses on purpose, so its pauses are no stalls.
    stalledMs: direction === "download" ? stalledMsOf(counters) : null,
    fault: counters?.lastFault?.toData() ?? item.fault,
    startedBy: startedByOf(command),
  };
}
