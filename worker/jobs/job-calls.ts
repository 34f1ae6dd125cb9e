import type {
  EndJobAnswer,
  HeldAnswer,
  HeldAttempt,
  TakeJobAnswer,
  endJobInput,
  takeJobInput,
} from "#protocol/jobs/node-jobs.ts";
import type { NextJobAnswer, nextJobInput } from "#protocol/jobs/job-bytes.ts";
import type * as z from "zod";
import type { Hub } from "../hub-link/hub.ts";

/** Calls of a node about jobs. Each makes one call. @throws Faults of the hub */

export type AttemptReport = z.output<typeof endJobInput>;

/** Asks for one job of a queue and waits for it. */
export const takeJob = (hub: Hub, input: z.input<typeof takeJobInput>): Promise<TakeJobAnswer> =>
  hub.ask("takeJob", (client, signal) => client.node.takeJob.mutate(input, { signal }));

/** Asks which job this node would be handed next. `until` ends the call. */
export const nextJob = (
  hub: Hub,
  input: z.input<typeof nextJobInput>,
  { until }: { until: AbortSignal },
): Promise<NextJobAnswer> =>
  hub.ask("nextJob", (client, signal) =>
    client.node.nextJob.mutate(input, { signal: AbortSignal.any([signal, until]) }),
  );

/** Reports the end of an attempt. Repeating it changes nothing. */
export const endJob = (hub: Hub, report: AttemptReport): Promise<EndJobAnswer> =>
  hub.ask("endJob", (client, signal) => client.node.endJob.mutate(report, { signal }));

/** Renews the leases of these attempts, and returns which of them are over. */
export async function jobStates(
  hub: Hub,
  input: { bootId: string; jobs: HeldAttempt[] },
): Promise<readonly HeldAnswer[]> {
  const answer = await hub.ask("jobStates", (client, signal) => client.node.jobStates.mutate(input, { signal }));
  return answer.jobs;
}
