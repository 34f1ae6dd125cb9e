import { JOB_POLL_MS, type TakenJob } from "#protocol/jobs/node-jobs.ts";
import { isFault } from "#protocol/faults/fault.ts";
import type { Clock } from "../base/clock.ts";
import type { Hub } from "../hub-link/hub.ts";
import { jobStates } from "./job-calls.ts";

/**
 * Renews the lease of an attempt until the hub says that the attempt is over, or the signal fires. A hub that does not answer
 * stops nothing: the program goes on, and the hub decides later whether another node has the job. Returns the hub's reason;
 * null when the signal fired.
 */
export async function keepLease(
  { id: jobId, attempt }: Pick<TakenJob, "id" | "attempt">,
  about: { hub: Hub; bootId: string; clock: Clock; signal: AbortSignal },
): Promise<string | null> {
  const { hub, bootId, clock, signal } = about;
  while (!signal.aborted) {
    try {
      const held = await jobStates(hub, { bootId, jobs: [{ jobId, attempt }] });
      const own = held.find((one) => one.jobId === jobId && one.attempt === attempt);
      if (own?.state === "over") return own.reason ?? "it is over";
    } catch (error) {
      if (!isFault(error)) throw error;
    }
    await clock.sleep(JOB_POLL_MS, signal).catch(() => undefined);
  }
  return null;
}
