import { isEnded } from "#protocol/wire/transfer.ts";
import { type Fault, isFault } from "#protocol/faults/fault.ts";
import type { FaultCode } from "#protocol/faults/fault-table.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import type { Engine } from "../transfer/engine.ts";
import type { Outbox } from "../hub-link/outbox.ts";
import type { Capture } from "../capture/capture.ts";
import { isOfOneLine, type Ledger } from "../capture/ledger.ts";
import { clearUpload, journalOf } from "./upload.ts";

/** Returns whether a capture that failed with this code is not worth keeping: it can never become safe. */
export const isHopeless = (code: FaultCode): boolean => code === "SOURCE_CHANGED" || code === "EPOCH_OVER";

export interface EndParts {
  ledger: Ledger;
  outbox: Pick<Outbox, "add">;
  journals: string;
  storeSession(item?: Capture): { engine: Engine } | null;
  signal: AbortSignal;
  onEnd(capture: Capture): void;
  /** Returns whether the files of a safe capture are kept for copies to replicas; the callee then owns them. */
  keepForCopies?(capture: Capture): Promise<boolean>;
}

export interface Settling {
  /** Does the last steps of an end: removes the files, tells the hub, forgets. On a full disk the rest is left to `again`. */
  settle(id: string): Promise<void>;
  /** Repeats what could not be finished. */
  again(): Promise<void>;
}

/** Returns whether the disk caused the fault. An end counts on a full disk too, because the files of ended captures fill it. */
const isOfDisk = (error: unknown): error is Fault =>
  isFault(error) && (error.code === "NO_SPACE" || error.code === "WRITE_FAILED");

export function createSettling(parts: EndParts): Settling {
  const { ledger } = parts;
  const left = new Map<string, "all" | "telling">();
  // Not in `left` while it is under way, so that nobody else tells the hub a second time.
  const settle = async (item: Capture, todo: "all" | "telling") => {
    left.delete(item.id);
    let rest: "all" | "telling" | "nothing" = todo;
    try {
      if (todo === "all") await clear(parts, item);
      rest = "telling";
      await tell(parts, item);
      rest = "nothing";
      if (!isKeptForRetry(item)) await ledger.drop(item.id);
    } catch (error) {
      if (rest !== "nothing") left.set(item.id, rest);
      if (!isOfDisk(error)) throw error;
    }
  };
  return {
    settle: async (id) => {
      const item = ledger.get(id);
      if (item === undefined || !isEnded(item.state)) return;
      parts.onEnd(item);
      await settle(item, "all");
    },
    again: async () => {
      // Iterates over a copy: what fails again is added to `left`, and waits for the next time.
      const tried = new Map(left);
      for (const [id, todo] of tried) {
        const item = ledger.get(id);
        if (item !== undefined && isEnded(item.state)) await settle(item, todo);
        else left.delete(id);
      }
    },
  };
}

/** Returns whether a failed capture stays, so that it can be tried again. The next safe one of its run removes it. */
const isKeptForRetry = ({ state, fault }: Capture): boolean =>
  state === "failed" && fault !== null && !isHopeless(fault.code);

/** Removes files before the hub is told, because a full disk has no room for that event. May be repeated, also after a kill. */
async function clear(parts: EndParts, item: Capture): Promise<void> {
  if (isKeptForRetry(item)) return;
  const { ledger, journals, signal } = parts;
  const remove = (capture: Capture) =>
    clearUpload(parts.storeSession(capture)?.engine ?? null, { capture, journals, signal });
  if (item.state !== "done") return remove(item);
  for (const old of ledger.all()) {
    if (old.state !== "failed" || !isOfOneLine(old, item) || old.step > item.step) continue;
    await remove(old);
    await ledger.drop(old.id);
  }
  if ((await parts.keepForCopies?.(item)) === true) await removeOwned("journal", journalOf(journals, item));
  else await remove(item);
}

async function tell(parts: EndParts, item: Capture): Promise<void> {
  const { state } = item;
  if (state !== "done" && state !== "failed" && state !== "cancelled" && state !== "superseded") return;
  await parts.outbox.add({
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
    connections: parts.storeSession(item)?.engine.semaphore.width ?? 0,
    startedBy: item.startedBy,
    fault: item.fault,
    ...(item.measured === undefined ? {} : { measured: item.measured }),
    ...(item.home == null ? {} : { profileId: item.home }),
  });
}
