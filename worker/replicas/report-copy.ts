import type { FaultData } from "#protocol/faults/fault.ts";
import type { TransferProgress } from "#protocol/wire/reports.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { measuredOf } from "../transfer/progress/measured-of.ts";
import { movementOf, stalledMsOf } from "../transfer/progress/movement-of.ts";
import { journalOf } from "../upload/upload.ts";
import { waitOf, type ActiveCopy, type CopierParts, type CopyState } from "./copier-parts.ts";
import type { CopyItem } from "./copy-ledger.ts";

/** How a copy ended. */
export interface CopyEnd {
  state: "done" | "failed" | "cancelled" | "superseded";
  fault: FaultData | null;
  /** The attempt that ended it; null when none was under way. */
  active: ActiveCopy | null;
}

/** Tells the hub how a copy ended, and removes its journal and its item. */
export async function endCopy(
  { parts, state }: { parts: CopierParts; state: CopyState },
  item: CopyItem,
  end: CopyEnd,
): Promise<void> {
  await tellEnd(parts, item, end);
  state.waits.delete(item.capture.transferId);
  await removeOwned("journal", journalOf(parts.journals, item.capture));
  await parts.ledger.drop(item);
}

async function tellEnd(parts: CopierParts, item: CopyItem, about: CopyEnd): Promise<void> {
  const { capture, takenAt } = item;
  const { active, fault } = about;
  const partBytes = capture.files.reduce((most, one) => Math.max(most, Math.min(one.partBytes, one.sizeBytes)), 0);
  const measured = measuredOf(active?.counters ?? null, { engine: active?.engine ?? null, partBytes });
  await parts.outbox.add({
    type: "transfer-ended",
    transferId: capture.transferId,
    direction: "copy",
    state: about.state,
    checkpointId: capture.id,
    run: capture.run,
    step: capture.step,
    bytes: capture.sizeBytes,
    files: capture.files.length,
    sentBytes: capture.sentBytes + (active?.counters?.sentBytes ?? 0),
    startedAt: Math.round(capture.startedAt ?? takenAt),
    retries: capture.retries + (active?.counters?.retries ?? 0),
    connections: active?.engine.semaphore.width ?? 0,
    startedBy: "queue",
    fault,
    ...(capture.home == null ? {} : { profileId: capture.home }),
    ...(measured === null ? {} : { measured }),
  });
}

/** Returns the row of one copy in the report to the hub. */
export function copyProgress(item: CopyItem, state: CopyState): TransferProgress {
  const { capture, isPaused, takenAt } = item;
  const active = state.active?.item.capture.transferId === capture.transferId ? state.active : null;
  const counters = active?.counters ?? null;
  return {
    id: capture.transferId,
    direction: "copy",
    state: isPaused ? "paused" : active === null ? "waiting" : "running",
    checkpointId: capture.id,
    run: capture.run,
    step: capture.step,
    ...movementOf(counters, active?.engine ?? null),
    bytesTotal: capture.sizeBytes,
    filesTotal: capture.files.length,
    startedAt: Math.round(takenAt),
    retries: capture.retries + (counters?.retries ?? 0),
    stalledMs: stalledMsOf(counters),
    fault: counters?.lastFault?.toData() ?? waitOf(state, item).fault,
    startedBy: "queue",
    ...(capture.home == null ? {} : { profileId: capture.home }),
  };
}
