import type * as z from "zod";
import { isFault } from "#protocol/faults/fault.ts";
import type { SteerAnswer, steerInput } from "#protocol/local-api/local.ts";
import { judgeAction } from "#protocol/wire/transfer.ts";
import type { Agent } from "../agent-assemble.ts";
import { EVERY_RUN } from "#worker/capture/ledger.ts";

/**
 * Steers many uploads at once. A pause or resume without `step` is recorded in the ledger, so that later captures follow it. An
 * upload that ends meanwhile stays as it ended.
 */
export async function steerMany(
  { ledger, uploader }: Pick<Agent, "ledger" | "uploader">,
  { wish: action, run, step }: z.infer<typeof steerInput>,
): Promise<SteerAnswer> {
  if (step === undefined && (action === "pause" || action === "resume"))
    await ledger.hold(run ?? EVERY_RUN, action === "pause");
  const meant = ledger
    .all()
    .filter((item) => (run === undefined || item.run === run) && (step === undefined || item.step === step))
    .filter(({ state }) => judgeAction(state, action) === "to do");
  let uploads = 0;
  for (const { transferId } of meant) {
    try {
      await uploader.steer(transferId, action);
      uploads++;
    } catch (error) {
      if (!isFault(error) || (error.code !== "NOT_FOUND" && error.code !== "CONFLICT")) throw error;
    }
  }
  uploader.wake();
  return { uploads };
}
