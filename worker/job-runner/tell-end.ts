import type { DamageReport } from "#protocol/checkpoint/damage.ts";
import type { Engine } from "../transfer/engine.ts";
import { measuredOf } from "../transfer/progress/measured-of.ts";
import type { ProgressCounters } from "../transfer/progress/transfer-progress.ts";
import { isOwn, type CommandMemory } from "../hub-link/command-memory.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import { directionOf, startedByOf, type Moving } from "./progress-of.ts";

/** The copy of a checkpoint that was finally read, and the damaged copies that were skipped, for runs kept in several buckets. */
export interface ReadFrom {
  profileId: string | null;
  damagedCopies: { profileId: string; damage: DamageReport }[];
}

/**
 * Reports the end of a transfer and of its command; does nothing before the end. The command stays open in the journal
 * until both events are in the outbox. After a kill they are reported again, without the counts of the earlier process.
 */
export async function tellEnd(
  parts: { outbox: Outbox; memory: CommandMemory; engine(): Engine | null },
  item: Moving,
  {
    counters,
    damage,
    from = null,
  }: { counters: ProgressCounters | null; damage: DamageReport | null; from?: ReadFrom | null },
): Promise<void> {
  const { command, state, fault } = item;
  if (state !== "done" && state !== "failed" && state !== "cancelled") return;
  const direction = directionOf(command);
  const asked = command.kind === "verify" || command.kind === "copy" ? command.profileId : undefined;
  const home = from?.profileId ?? asked;
  const engine = parts.engine();
  // Other directions pause on purpose, so their rates say nothing about the link.
  const measured =
    direction === "download" ? measuredOf(counters, { engine, partBytes: counters?.largestPartBytes ?? null }) : null;
  await parts.outbox.add({
    type: "transfer-ended",
    transferId: command.transferId,
    direction,
    state,
    checkpointId: command.checkpointId,
    run: command.run,
    step: command.step,
    bytes: counters?.bytesTotal ?? 0,
    files: counters?.filesTotal ?? 0,
    sentBytes: counters?.sentBytes ?? 0,
    startedAt: Math.round(item.at),
    retries: counters?.retries ?? 0,
    connections: engine?.semaphore.width ?? 0,
    startedBy: startedByOf(command),
    fault,
    ...(damage === null ? {} : { damage }),
    ...(isPartial(command) ? { isPartial: true as const } : {}),
    ...(measured === null ? {} : { measured }),
    ...(home == null ? {} : { profileId: home }),
    ...(from === null || from.damagedCopies.length === 0 ? {} : { damagedCopies: from.damagedCopies }),
  });
  if (!isOwn(command)) await parts.outbox.add({ type: "command-ended", commandId: command.id, outcome: state, fault });
  await parts.memory.end(command.id);
}

const isPartial = (command: Moving["command"]): boolean =>
  command.kind === "restore" && (command.files != null || command.tensors != null);
