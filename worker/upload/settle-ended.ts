import { rm } from "node:fs/promises";
import { isEnded } from "#protocol/transfer.ts";
import type { FaultCode } from "#protocol/fault-table.ts";
import type { Engine } from "../engine/engine.ts";
import type { Outbox } from "../link/outbox.ts";
import type { Capture } from "./capture.ts";
import type { Ledger } from "./ledger.ts";
import { clearUpload, journalOf } from "./upload.ts";

/** What failed for one of these is not worth keeping: it can never become safe. */
export const isHopeless = (code: FaultCode): boolean => code === "SOURCE_CHANGED" || code === "EPOCH_OVER";

export interface EndParts {
  ledger: Ledger;
  outbox: Outbox;
  journals: string;
  bench(item?: Capture): { engine: Engine } | null;
  signal: AbortSignal;
  onEnd(capture: Capture): void;
  /** A safe one may be wanted in other homes too: then whoever says so keeps its files from now on. */
  keepForCopies?(capture: Capture): Promise<boolean>;
}

/** The last steps of an end: tell the hub, remove the files, forget. Each may be repeated after a kill. */
export async function settleEnded(parts: EndParts, id: string): Promise<void> {
  const { ledger, outbox } = parts;
  const item = ledger.get(id);
  if (item === undefined || !isEnded(item.state) || item.state === "waiting") return;
  const { state } = item;
  if (state !== "done" && state !== "failed" && state !== "cancelled" && state !== "superseded") return;
  parts.onEnd(item);
  await outbox.add({
    type: "transfer-ended",
    transferId: item.transferId,
    direction: "upload",
    state,
    checkpointId: item.id,
    run: item.run,
    step: item.step,
    bytes: item.sizeBytes,
    files: item.files.length,
    sentBytes: item.sentBytes,
    startedAt: item.startedAt ?? item.capturedAt,
    retries: item.retries,
    connections: parts.bench(item)?.engine.gate.width ?? 0,
    startedBy: item.startedBy,
    fault: item.fault,
    ...(item.measured === undefined ? {} : { measured: item.measured }),
    ...(item.home == null ? {} : { profileId: item.home }),
  });
  // A failed one stays, so that it can be tried again; the next safe one of its run removes it.
  if (state === "failed" && item.fault !== null && !isHopeless(item.fault.code)) return;
  const obsolete =
    state === "done"
      ? ledger.all().filter((old) => old.state === "failed" && old.run === item.run && old.step <= item.step)
      : [];
  const isKept = state === "done" && (await parts.keepForCopies?.(item)) === true;
  for (const gone of [item, ...obsolete]) {
    if (gone === item && isKept) await rm(journalOf(parts.journals, item), { force: true });
    else {
      const about = { capture: gone, journals: parts.journals, signal: parts.signal };
      await clearUpload(parts.bench(gone)?.engine ?? null, about);
    }
    await ledger.drop(gone.id);
  }
}
