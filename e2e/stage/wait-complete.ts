import type { Stage } from "./open-stage.ts";
import { waitUntil } from "./wait-until.ts";

/** A checkpoint of the run, once it is complete: the one of a step, or whichever the hub names first. */
export function waitComplete({ client }: Pick<Stage, "client">, run: string, { step }: { step?: number } = {}) {
  return waitUntil(`${step === undefined ? "a checkpoint" : `step ${step}`} of ${run} is complete`, async () => {
    const { checkpoints } = await client.runs.get.query({ run });
    return checkpoints.find((one) => one.state === "complete" && (step === undefined || one.step === step));
  });
}
