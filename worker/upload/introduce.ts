import { Fault } from "#protocol/faults/fault.ts";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import type { Capture } from "../capture/capture.ts";
import { announce } from "./upload.ts";
import type { UploaderParts } from "./uploader-parts.ts";

/**
 * Claims the epoch of the run the first time, and announces the capture to the hub. Returns the claim that it is sent under. A
 * capture of an earlier epoch is sent as one of that epoch while every later epoch is a new line of the same program. Otherwise it
 * is refused: it would bring back training from before another node took the run over. @throws Fault EPOCH_OVER, those of the hub
 */
export async function introduceCapture(parts: UploaderParts, item: Capture): Promise<ClaimAnswer> {
  const { ledger, runs, hub, homes } = parts;
  if (item.newLine != null) await parts.openLines?.(item.run);
  const claim = await runs.epochOf(item.run);
  const isEarlier = item.epoch !== null && item.epoch !== claim.epoch;
  if (isEarlier && parts.hubKnows?.("earlier-line") !== true) {
    const detail = `captured in epoch ${item.epoch}, now it is ${claim.epoch}`;
    throw new Fault("EPOCH_OVER", { op: "upload", subject: item.run, detail });
  }
  if (item.epoch === null) await ledger.update(item.id, { epoch: claim.epoch });
  if (!item.announced && homes !== undefined) {
    const home = await homes.choose(item.run, item.home ?? null);
    if (home !== (item.home ?? null)) await ledger.update(item.id, { home });
  }
  // Where an earlier epoch started is not known here any more, so it is asked again.
  if (item.announced && !isEarlier) return claim;
  const writerEpoch = item.epoch ?? claim.epoch;
  const sealKeyId = parts.storeSession(item)?.store.sealing?.keyId ?? null;
  const earlier = await announce(hub, item, { writerEpoch, sealKeyId });
  if (!item.announced) await ledger.update(item.id, { announced: true });
  if (earlier === null) return claim;
  // Another node of the group saw the program begin anew before this one did.
  if (item.piece !== undefined && item.step < earlier.next.after.step) await runs.joinLine(item.run);
  const { parent, branch } = earlier;
  const claimed = { epoch: writerEpoch, parent, newest: null, ...(branch !== undefined && { branch }) };
  runs.noteEarlier(item.run, claimed);
  return claimed;
}
