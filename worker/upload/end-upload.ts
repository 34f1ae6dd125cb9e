import type { Fault } from "#protocol/faults/fault.ts";
import { mayMove, type MoveBy, type TransferState } from "#protocol/wire/transfer.ts";
import type { Capture } from "../capture/capture.ts";
import { supersededBy } from "../capture/ledger.ts";
import type { Settling } from "./settle-ended.ts";
import type { UploadState } from "./upload-state.ts";
import type { UploaderParts } from "./uploader-parts.ts";

/** Ends captures. */
export interface Endings {
  /** Moves a capture to a final state, removes its files and tells the hub. */
  end(item: Capture, to: TransferState, about: { by: MoveBy; fault?: Fault }): Promise<void>;
  /** Ends a capture that was committed, and passes over the older ones of its run that wait. */
  endSafe(item: Capture): Promise<void>;
}

/** Creates what ends captures. `stopPreparing`: stops announcing and signing ahead for a capture. */
export function createEndings(
  parts: UploaderParts,
  about: { state: UploadState; settling: Settling; stopPreparing(id: string): Promise<void> },
): Endings {
  const { ledger } = parts;
  const { state, settling } = about;
  const end: Endings["end"] = async (item, to, { by, fault }) => {
    const at = parts.wallNow();
    await about.stopPreparing(item.id);
    // The loop of late commits may have passed it over meanwhile.
    if (by === "policy" && !mayMove(item.state, to, by)) return;
    await ledger.move(item.id, to, { by, at, ...(fault === undefined ? {} : { fault: fault.toData() }) });
    await settling.settle(item.id);
  };
  return {
    end,
    endSafe: async (item) => {
      await end(item, "done", { by: "node" });
      for (const older of supersededBy(item, ledger.all())) await end(older, "superseded", { by: "policy" });
      state.waitingFor = null;
    },
  };
}
