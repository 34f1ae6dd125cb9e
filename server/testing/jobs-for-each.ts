import { beforeEach } from "vitest";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import { JOB_POLL_MS, type AttemptExit, type TakenJob } from "#protocol/jobs/node-jobs.ts";
import { keepJobs } from "#server/features/jobs/keep-jobs.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { hubForEach, test } from "./hub-for-each.ts";
import { addTestNode, addTestProfile, callAs, report, type TestNode } from "./open-test-hub.ts";
import { store } from "./hub-for-each.ts";
import { clearBucket } from "./test-bucket.ts";
import { newId } from "../platform/random-id.ts";

/** For tests of jobs: one store for the file, and for every test a hub over an empty bucket with two nodes. */
export { test };
export let profileId: string;
export let first: TestNode;
export let second: TestNode;

/** Registers the hooks that run before and after the tests of a file. */
export function jobsForEach(): void {
  hubForEach();
  beforeEach(async () => {
    profileId = await addTestProfile(test.hub, store.endpoint);
    await clearBucket(test.hub, profileId);
    // Tokens of their own: what lets a node take over a run here is the lease of a job alone.
    first = await addTestNode(test.hub, profileId, "gpu-1");
    second = await addTestNode(test.hub, profileId, "gpu-2");
  });
}

export const people = () => callAs(test.hub, "operator").jobs;
export const nodeOf = (who: TestNode) => callAs(test.hub, who.caller).node;
export const speak = (who: TestNode) => nodeOf(who).progress(report(test.hub));

/** Submits jobs that differ from an ordinary one; returns their ids in order. */
export async function submit(...drafts: readonly Partial<JobDraft>[]): Promise<string[]> {
  const { jobs } = await people().submit({ jobs: drafts.map((draft) => ({ command: "python", ...draft })) });
  return jobs.map(({ id }) => id);
}

/** The start of the worker of each node; `restart` makes another one. */
const boots = new Map<string, string>();
export function bootOf(who: TestNode): string {
  const boot = boots.get(who.nodeId) ?? newId();
  boots.set(who.nodeId, boot);
  return boot;
}
export const restart = (who: TestNode): void => {
  boots.set(who.nodeId, newId());
};

type TakeChanges = Partial<Parameters<ReturnType<typeof nodeOf>["takeJob"]>[0]>;
/** Asks for a job without waiting. */
export const ask = (who: TestNode, changes: TakeChanges = {}) =>
  nodeOf(who).takeJob({ bootId: bootOf(who), queue: "default", holds: [], ...changes });

/** Takes a job. @throws when there is none */
export async function take(who: TestNode, changes: TakeChanges = {}): Promise<TakenJob> {
  const { job, why } = await ask(who, changes);
  if (job === null) throw new Error(`there is no job: ${why ?? "none is due"}`);
  return job;
}

export const DONE: AttemptExit = { kind: "exited", code: 0 };
export const FAILED: AttemptExit = { kind: "exited", code: 1 };

/** Reports the end of an attempt. */
export async function end(who: TestNode, { id, attempt, epoch }: TakenJob, exit: AttemptExit): Promise<boolean> {
  const steps = { fromStep: null, toStep: null, safeStep: null };
  return (await nodeOf(who).endJob({ jobId: id, attempt, epoch, exit, ...steps })).accepted;
}

export const read = (id: string) => people().get({ id });
export const stateOf = async (id: string): Promise<string> => (await read(id)).state;
export const outcomesOf = async (id: string): Promise<(string | null)[]> =>
  (await read(id)).attemptRows.map(({ outcome }) => outcome).toReversed();

/** Steps are far shorter than the silence of a node, because the hub's own clock runs meanwhile. */
const STEP_MS = JOB_POLL_MS;

/** Lets time pass in which only `heard` report, and runs the clock's jobs. `poll` asks about attempts, as a worker does. */
export async function pass(ms: number, heard: readonly TestNode[], poll?: () => Promise<unknown>): Promise<void> {
  for (let leftMs = ms; leftMs >= 0; leftMs -= STEP_MS) {
    test.advance(Math.min(STEP_MS, leftMs));
    for (const one of heard) await speak(one);
    await poll?.();
    await markSilentNodes(test.hub);
    await keepJobs(test.hub);
    if (leftMs === 0) return;
  }
}

/** Lets a long time pass at once. Running attempts are interrupted. */
export async function jump(ms: number, heard: readonly TestNode[]): Promise<void> {
  test.advance(ms);
  await pass(0, heard);
}
