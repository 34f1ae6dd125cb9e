import { describe, expect, it } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { fault } from "#server/testing/match-fault.ts";
import {
  ask,
  bootOf,
  DONE,
  end,
  FAILED,
  first,
  jobsForEach,
  nodeOf,
  outcomesOf,
  pass,
  people,
  read,
  restart,
  second,
  speak,
  stateOf,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";
import { callAs, joinGroup, type TestNode } from "#server/testing/open-test-hub.ts";
import { announce, makeSafe } from "#server/testing/stage-checkpoint.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";

/** The lease of a job is the writer epoch of its run: who loses it changes nothing any more, and nothing is lost with it. */

jobsForEach();

/** The run of the tools that stage checkpoints. */
const run = "llama";
const poll = async (who: TestNode, { id, attempt }: TakenJob) =>
  (await nodeOf(who).jobStates({ bootId: bootOf(who), jobs: [{ jobId: id, attempt }] })).jobs[0];
const eventsOf = async () =>
  (await test.hub.db.event.findMany({ where: { kind: { startsWith: "job-" } }, orderBy: { id: "asc" } })).map(
    ({ kind, nodeName }) => (nodeName === null ? kind : `${kind} ${nodeName}`),
  );

describe("the node that is handed a job", () => {
  it("has the run, and a predecessor that is online all the same is fenced off", async () => {
    const [id = ""] = await submit({ run });
    const before = await take(first);
    await makeSafe(test.hub, first, { epoch: before.epoch, step: 100 });
    await end(first, before, FAILED);
    await pass(10_001, [first, second]);
    const after = await take(second);
    expect(after).toMatchObject({ id, attempt: 2, epoch: before.epoch + 1, claim: { newest: { step: 100 } } });
    await expect(announce(test.hub, first, { epoch: before.epoch, step: 101 })).rejects.toEqual(fault("EPOCH_OVER"));
    await makeSafe(test.hub, second, { epoch: after.epoch, step: 101 });
    expect((await read(id)).attemptRows[0]).toMatchObject({ fromStep: 100, epoch: after.epoch, outcome: null });
  });

  it("is shown with the steps that it reported and that are safe, while it works", async () => {
    const [id = ""] = await submit({ run });
    const job = await take(first);
    expect((await read(id)).attemptRows[0]).toMatchObject({ fromStep: null, toStep: null, safeStep: null });
    await makeSafe(test.hub, first, { epoch: job.epoch, step: 100 });
    expect((await read(id)).attemptRows[0]).toMatchObject({ fromStep: null, toStep: 100, safeStep: 100 });
    await end(first, job, FAILED);
    expect((await read(id)).attemptRows[0]).toMatchObject({ outcome: "failed", toStep: null, safeStep: null });
  });

  it("goes on with its epoch when its program claims the run", async () => {
    await submit({ run });
    const { epoch } = await take(first);
    const claimed = await nodeOf(first).claimEpoch({ run: runName.parse(run) });
    expect(claimed.epoch).toBe(epoch);
  });

  it("ends its job under the epoch that a program opened which starts over", async () => {
    const [id = ""] = await submit({ run });
    const job = await take(first);
    const line = await nodeOf(first).claimEpoch({ run: runName.parse(run), isLine: true });
    expect(line.epoch).toBe(job.epoch + 1);
    expect(await end(first, job, DONE)).toBe(true);
    expect(await stateOf(id)).toBe("done");
  });

  it("keeps the run from the other nodes of its container group while it works", async () => {
    await joinGroup(test.hub, first, second);
    await submit({ run });
    const job = await take(first);
    const claim = () => nodeOf(second).claimEpoch({ run: runName.parse(run) });
    await expect(claim()).rejects.toEqual(fault("RUN_IN_USE"));
    await end(first, job, DONE);
    expect((await claim()).epoch).toBe(job.epoch + 1);
  });
});

describe("a stale end", () => {
  it("changes nothing: of a node whose job another one has", async () => {
    const [id = ""] = await submit({ run });
    const old = await take(first);
    await pass(60_000, [second]);
    expect(await stateOf(id)).toBe("waiting");
    const now = await take(second);
    for (const exit of [DONE, FAILED]) expect(await end(first, old, exit)).toBe(false);
    expect(await read(id)).toMatchObject({ state: "running", failures: 0, node: { id: second.nodeId } });
    expect(await end(second, now, DONE)).toBe(true);
    expect(await end(first, old, FAILED)).toBe(false);
    expect(await outcomesOf(id)).toEqual(["interrupted", "completed"]);
  });

  it("changes nothing: of another node, with another epoch, or with the number of another attempt", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    expect(await end(second, job, DONE)).toBe(false);
    expect(await end(first, { ...job, epoch: job.epoch + 1 }, DONE)).toBe(false);
    expect(await end(first, { ...job, attempt: 2 }, DONE)).toBe(false);
    expect(await end(first, { ...job, id: "no-such-job" }, DONE)).toBe(false);
    expect(await stateOf(id)).toBe("running");
  });

  it("changes nothing: of an earlier attempt at the same node, which has the same epoch", async () => {
    const [id = ""] = await submit({});
    const old = await take(first);
    await pass(60_000, [second]);
    const now = await take(first);
    expect(now).toMatchObject({ id, attempt: 2, epoch: old.epoch });
    await pass(60_000, [second]);
    expect(await stateOf(id)).toBe("waiting");
    expect(await end(first, old, DONE)).toBe(false);
    expect((await poll(first, old))?.state).toBe("over");
    expect(await end(first, now, DONE)).toBe(true);
    expect(await outcomesOf(id)).toEqual(["interrupted", "completed"]);
  });

  it("changes nothing when a person handed the run to another node, and the job waits again", async () => {
    const [id = ""] = await submit({ run });
    const job = await take(first);
    await callAs(test.hub, "operator").runs.handOver({ run: runName.parse(run), nodeId: second.nodeId });
    await nodeOf(second).claimEpoch({ run: runName.parse(run) });
    expect(await end(first, job, DONE)).toBe(false);
    expect(await read(id)).toMatchObject({ state: "waiting", failures: 0 });
    expect(await outcomesOf(id)).toEqual(["interrupted"]);
  });

  it("is answered like the first time when the answer to the first was lost", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    expect([await end(first, job, FAILED), await end(first, job, FAILED)]).toEqual([true, true]);
    expect((await read(id)).failures).toBe(1);
  });
});

describe("an attempt is interrupted, and the job waits for the next node without a failure", () => {
  const interrupted = async (id: string, why: string): Promise<void> => {
    expect(await read(id)).toMatchObject({ state: "waiting", failures: 0, reason: why });
    expect(await outcomesOf(id)).toEqual(["interrupted"]);
    const next = await take(second);
    expect(next).toMatchObject({ id, attempt: 2 });
    expect(await end(second, next, DONE)).toBe(true);
    expect(await stateOf(id)).toBe("done");
  };

  it("when its node is silent", async () => {
    const [id = ""] = await submit({ policy: { mostFailures: 1 } });
    await take(first);
    await pass(60_000, [second]);
    await interrupted(id, "gpu-1 is silent");
    expect(await eventsOf()).toEqual([
      "job-submitted",
      "job-started gpu-1",
      "job-interrupted gpu-1",
      "job-started gpu-2",
      "job-done gpu-2",
    ]);
  });

  it("when its node says goodbye", async () => {
    const [id = ""] = await submit({});
    await take(first);
    await nodeOf(first).goodbye();
    await pass(0, [second]);
    await interrupted(id, "gpu-1 stopped");
  });

  it("when its node is revoked", async () => {
    const [id = ""] = await submit({});
    await take(first);
    await callAs(test.hub, "admin").nodes.revoke({ id: first.nodeId });
    await pass(0, [second]);
    await interrupted(id, "gpu-1 was revoked");
  });

  it("when its worker started again and asks for a job", async () => {
    const [id = "", other = ""] = await submit({}, {});
    await take(first);
    restart(first);
    // Interrupted ones come first, also before one that was submitted earlier: the same node is given its own again.
    expect(await take(first)).toMatchObject({ id, attempt: 2 });
    expect((await read(id)).attemptRows.at(-1)).toMatchObject({
      outcome: "interrupted",
      reason: "gpu-1 started again",
    });
    expect(await stateOf(other)).toBe("waiting");
  });

  it("when its node reports but nobody asks about it", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    await pass(120_000, [first, second], () => poll(first, job));
    expect(await stateOf(id)).toBe("running");
    await pass(75_000, [first, second]);
    expect((await read(id)).reason).toMatch(/^gpu-1 did not ask about it for \d+ s$/);
    expect(await outcomesOf(id)).toEqual(["interrupted"]);
    expect((await poll(first, job))?.state).toBe("current");
  });

  it("when the hub could not claim its run within five minutes", async () => {
    const [id = ""] = await submit({});
    await take(first);
    await test.hub.db.jobAttempt.updateMany({ data: { epoch: null } });
    await pass(290_000, [first, second]);
    expect(await stateOf(id)).toBe("running");
    await pass(20_000, [first, second]);
    await interrupted(id, "gpu-1 could not be given the run in time");
  });

  it("when its worker says so", async () => {
    const [id = ""] = await submit({});
    expect(await end(first, await take(first), { kind: "interrupted", why: "the machine is taken away" })).toBe(true);
    await interrupted(id, "the machine is taken away");
  });
});

describe("a node that was silent and comes back", () => {
  it("goes on with its attempt while nobody else has the job", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    await pass(60_000, [second]);
    expect(await stateOf(id)).toBe("waiting");
    await speak(first);
    expect(await poll(first, job)).toMatchObject({ state: "current" });
    await pass(0, [second]);
    expect(await stateOf(id)).toBe("running");
    expect((await ask(second)).job).toBeNull();
    expect(await end(first, job, DONE)).toBe(true);
    expect(await outcomesOf(id)).toEqual(["completed"]);
  });

  it("does not go on with it while another job of the run is running", async () => {
    const [id = "", other = ""] = await submit({ run }, { run });
    const job = await take(first);
    await pass(60_000, [second]);
    await speak(first);
    // Reserved, and the run is not claimed for it yet.
    await test.hub.db.job.update({ where: { id: other }, data: { state: "running" } });
    expect(await poll(first, job)).toMatchObject({ state: "over", outcome: "interrupted" });
    expect(await end(first, job, DONE)).toBe(false);
    expect(await stateOf(id)).toBe("waiting");
  });

  it("completes the job with the end that it kept, while nobody else has it", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    await pass(60_000, [second]);
    expect(await end(first, job, DONE)).toBe(true);
    expect(await stateOf(id)).toBe("done");
    expect((await ask(second)).job).toBeNull();
  });

  it("is told that it is over once another node has the job", async () => {
    await submit({});
    const job = await take(first);
    await pass(60_000, [second]);
    await take(second);
    expect(await poll(first, job)).toMatchObject({ state: "over", outcome: "interrupted", reason: "gpu-1 is silent" });
  });

  it("is not given back an attempt that an earlier start of its worker had", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    restart(first);
    expect(await poll(first, job)).toMatchObject({ state: "over", outcome: null });
    expect(await stateOf(id)).toBe("running");
  });
});

describe("a hub that starts again", () => {
  it("keeps running jobs running, and gives the node its time to report", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    await test.stop();
    test.advance(600_000);
    await test.start();
    await pass(15_000, [first, second]);
    expect(await stateOf(id)).toBe("running");
    expect((await poll(first, job))?.state).toBe("current");
    expect(await end(first, job, DONE)).toBe(true);
  });

  it("takes back a job that was never handed out to its end", async () => {
    const [id = ""] = await submit({});
    await take(first);
    await test.hub.db.jobAttempt.updateMany({ data: { epoch: null } });
    await pass(0, [first]);
    expect(await stateOf(id)).toBe("running");
    test.advance(1);
    await test.restart();
    await pass(0, [first, second]);
    expect(await read(id)).toMatchObject({ state: "waiting", failures: 0 });
  });
});

describe("a canceled job", () => {
  it("is final: neither an end nor a return of its node changes it", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    expect(await people().cancel({ which: { ids: [id] } })).toEqual({ found: 1, changed: 1, running: 1 });
    expect(await poll(first, job)).toMatchObject({ state: "over", outcome: "canceled" });
    expect(await end(first, job, DONE)).toBe(false);
    expect(await read(id)).toMatchObject({ state: "canceled", failures: 0 });
    expect(await outcomesOf(id)).toEqual(["canceled"]);
    expect((await ask(second)).job).toBeNull();
    expect(await people().retry({ which: { ids: [id] } })).toEqual({ found: 1, changed: 0, running: 0 });
  });

  it("is final also after its node was silent", async () => {
    const [id = ""] = await submit({});
    const job = await take(first);
    await pass(60_000, [second]);
    await people().cancel({ which: { ids: [id] } });
    expect(await end(first, job, DONE)).toBe(false);
    expect((await poll(first, job))?.state).toBe("over");
    expect(await stateOf(id)).toBe("canceled");
  });
});
