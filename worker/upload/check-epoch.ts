import { Fault } from "#protocol/faults/fault.ts";
import type { Capture } from "../capture/capture.ts";
import type { Ledger } from "../capture/ledger.ts";

/**
 * Creates a check that keeps a capture from being made safe in another epoch than its own. Otherwise training from before
 * another node took the run over would come back. A capture that an earlier process left belongs to that process's epoch, even
 * if it was not known at capture. The check throws EPOCH_OVER.
 */
export function createEpochCheck(ledger: Pick<Ledger, "all" | "writerEpoch">): (item: Capture, epoch: number) => void {
  const earlier = new Set(ledger.all().map(({ id }) => id));
  const epochsBefore = new Map(ledger.all().map(({ run }) => [run, ledger.writerEpoch(run)]));
  return (item, epoch) => {
    const before = earlier.has(item.id) ? (epochsBefore.get(item.run) ?? null) : null;
    const capturedIn = item.epoch ?? before;
    if (capturedIn === null || capturedIn === epoch) return;
    const detail = `captured in epoch ${capturedIn}, now it is ${epoch}`;
    throw new Fault("EPOCH_OVER", { op: "upload", subject: item.run, detail });
  };
}
