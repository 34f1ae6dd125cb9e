import { join } from "node:path";
import { endJobInput } from "#protocol/jobs/node-jobs.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import type { Hub } from "../hub-link/hub.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import { endJob, type AttemptReport } from "./job-calls.ts";
import type { JobMessages } from "./job-messages.ts";

/**
 * End of an attempt that the hub has not acknowledged, in the state folder. It is written before it is sent, so that a worker
 * killed in between does not run a complete job again. The worker asks for no other job before it is sent.
 */
const pathIn = (state: string): string => join(state, "job-end.json");

/** @throws Fault NO_SPACE, WRITE_FAILED */
export const keepEnd = (state: string, report: AttemptReport): Promise<void> => writeStateFile(pathIn(state), report);

/** Sends the end that is kept, if there is one, and removes it once the hub has answered. @throws Faults of the hub, READ_FAILED */
export async function reportEnd(hub: Hub, state: string, messages: Pick<JobMessages, "ended">): Promise<void> {
  const report = await readStateFile(pathIn(state), endJobInput);
  if (report === null) return;
  const { accepted } = await endJob(hub, report);
  await removeOwned("state-file", pathIn(state));
  messages.ended({ ...report, accepted });
}
