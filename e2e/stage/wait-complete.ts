import type { Stage } from "./open-stage.ts";
import { waitUntil } from "./wait-until.ts";

/** Resolves with a complete checkpoint of the run: that of `step`, or the first complete one that the hub lists. */
export function waitComplete({ client }: Pick<Stage, "client">, run: string, { step }: { step?: number } = {}) {
  return waitUntil(`${step === undefined ? "a checkpoint" : `step ${step}`} of ${run} is complete`, async () => {
    const { checkpoints } = await client.runs.get.query({ run });
    return checkpoints.find((one) => one.state === "complete" && (step === undefined || one.step === step));
  });
}
