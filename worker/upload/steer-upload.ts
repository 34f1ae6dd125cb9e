import { Fault } from "#protocol/faults/fault.ts";
import { judgeAction, TRANSFER_ACTIONS, type TransferAction } from "#protocol/wire/transfer.ts";
import type { Capture } from "../capture/capture.ts";
import type { Ledger } from "../capture/ledger.ts";

/**
 * Carries out what people want of uploads, one action at a time. The same action often comes twice, from two tabs or from the hub
 * and the command line. A fulfilled action changes nothing. An impossible one is refused before anything is stopped, or an upload
 * would stop that nobody moves afterwards.
 */
export function createSteering(parts: {
  ledger: Pick<Ledger, "byTransfer" | "move">;
  wallNow(): number;
  /** Stops all work on a capture. Resolves when its files are no longer in use. */
  letGo(item: Capture): Promise<void>;
  cancel(item: Capture): Promise<void>;
}): (transferId: string, action: TransferAction) => Promise<void> {
  const { ledger } = parts;
  const steer = async (transferId: string, action: TransferAction) => {
    const item = ledger.byTransfer(transferId);
    if (item === undefined) throw new Fault("NOT_FOUND", { op: action, subject: transferId });
    if (isFulfilled(item, action)) return;
    await parts.letGo(item);
    // The capture may have become safe or failed meanwhile.
    if (isFulfilled(item, action)) return;
    if (action === "cancel") await parts.cancel(item);
    else await ledger.move(item.id, TRANSFER_ACTIONS[action].to, { by: "person", at: parts.wallNow() });
  };
  let last: Promise<unknown> = Promise.resolve();
  return (transferId, action) => {
    const work = () => steer(transferId, action);
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

/** Returns whether the action is fulfilled already. @throws Fault CONFLICT when it cannot be fulfilled any more */
function isFulfilled({ state, transferId }: Capture, action: TransferAction): boolean {
  const verdict = judgeAction(state, action);
  if (verdict === "impossible")
    throw new Fault("CONFLICT", { op: action, subject: transferId, detail: `it is ${state}` });
  return verdict === "fulfilled";
}
