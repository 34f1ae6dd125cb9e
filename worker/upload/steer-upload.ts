import { Fault } from "#protocol/faults/fault.ts";
import { judgeWish, TRANSFER_WISHES, type TransferWish } from "#protocol/wire/transfer.ts";
import type { Capture } from "../capture/capture.ts";
import type { Ledger } from "../capture/ledger.ts";

/**
 * Carries out what people want of uploads, one wish at a time. The same wish often comes twice, from two tabs or from the hub
 * and the command line. A fulfilled wish changes nothing. An impossible one is refused before anything is stopped, or an upload
 * would stop that nobody moves afterwards.
 */
export function createSteering(parts: {
  ledger: Pick<Ledger, "byTransfer" | "move">;
  wallNow(): number;
  /** Stops all work on a capture. Resolves when its files are no longer in use. */
  letGo(item: Capture): Promise<void>;
  cancel(item: Capture): Promise<void>;
}): (transferId: string, wish: TransferWish) => Promise<void> {
  const { ledger } = parts;
  const steer = async (transferId: string, wish: TransferWish) => {
    const item = ledger.byTransfer(transferId);
    if (item === undefined) throw new Fault("NOT_FOUND", { op: wish, subject: transferId });
    if (isFulfilled(item, wish)) return;
    await parts.letGo(item);
    // The capture may have become safe or failed meanwhile.
    if (isFulfilled(item, wish)) return;
    if (wish === "cancel") await parts.cancel(item);
    else await ledger.move(item.id, TRANSFER_WISHES[wish].to, { by: "person", at: parts.wallNow() });
  };
  let last: Promise<unknown> = Promise.resolve();
  return (transferId, wish) => {
    const work = () => steer(transferId, wish);
    const mine = last.then(work, work);
    last = mine.catch(() => undefined);
    return mine;
  };
}

/** Returns whether the wish is fulfilled already. @throws Fault CONFLICT when it cannot be fulfilled any more */
function isFulfilled({ state, transferId }: Capture, wish: TransferWish): boolean {
  const verdict = judgeWish(state, wish);
  if (verdict === "impossible")
    throw new Fault("CONFLICT", { op: wish, subject: transferId, detail: `it is ${state}` });
  return verdict === "fulfilled";
}
