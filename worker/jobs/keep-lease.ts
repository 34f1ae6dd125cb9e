import { JOB_POLL_MS, type TakenJob } from "#protocol/jobs/node-jobs.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { aborted } from "../agent/agent.ts";
import type { Clock } from "../base/clock.ts";
import type { Hub } from "../hub-link/hub.ts";
import { jobStates } from "./job-calls.ts";

/**
 * Renews the lease of an attempt until the hub says that the attempt is over, or the signal fires. A hub that does not answer
 * stops nothing: the program goes on, and the hub decides later whether another node has the job. Returns the hub's reason;
 * null as soon as the signal fires.
 */
export async function keepLease(
  { id: jobId, attempt }: Pick<TakenJob, "id" | "attempt">,
  about: { hub: Hub; bootId: string; clock: Clock; signal: AbortSignal },
): Promise<string | null> {
  const { hub, bootId, clock, signal } = about;
  // A call that is open then may take long, and its answer changes nothing any more.
  const over = aborted(signal).then(() => []);
  while (!signal.aborted) {
    try {
      const held = await Promise.race([jobStates(hub, { bootId, jobs: [{ jobId, attempt }] }), over]);
      const own = held.find((one) => one.jobId === jobId && one.attempt === attempt);
      if (own?.state === "over") return own.reason ?? "it is over";
    } catch (error) {
      if (!isFault(error)) throw error;
    }
    await clock.sleep(JOB_POLL_MS, signal).catch(() => undefined);
  }
  return null;
}
