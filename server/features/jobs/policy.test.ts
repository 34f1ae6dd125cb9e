import { describe, expect, it, vi } from "vitest";
import {
  ask,
  bootOf,
  end,
  FAILED,
  first,
  jobsForEach,
  jump,
  nodeOf,
  outcomesOf,
  pass,
  people,
  read,
  second,
  speak,
  stateOf,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";
import { makeSafe } from "#server/testing/stage-checkpoint.ts";
import { withQueue } from "#server/core/live/job-memory.ts";
import { keepJobs } from "./keep-jobs.ts";
import type { AttemptExit } from "#protocol/jobs/node-jobs.ts";

/** What the policy of a job makes of its failures, as it is stored. */

jobsForEach();

/** Longer than the first wait after a failure. */
const FIRST_WAIT_MS = 10_001;

describe("a job that fails", () => {
  it("waits after each failure, longer each time, and fails with the last one", async () => {
    const [id = ""] = await submit({ policy: { mostFailures: 2 } });
    expect(await end(first, await take(first), FAILED)).toBe(true);
    expect(await read(id)).toMatchObject({ state: "waiting", failures: 1, reason: "ended with code 1", endedAt: null });
    expect((await ask(second)).job).toBeNull();
    await pass(FIRST_WAIT_MS, [first, second]);
    expect(await end(second, await take(second), { kind: "killed", signal: "SIGKILL" })).toBe(true);
    const failed = await read(id);
    expect(failed).toMatchObject({ state: "failed", failures: 2, attempts: 2 });
    expect(failed.attemptRows[0]).toMatchObject({ signal: "SIGKILL", exitCode: null });
    expect(failed.attemptRows[1]).toMatchObject({ signal: null, exitCode: 1 });
    await jump(700_000, [first, second]);
    expect((await ask(first)).job).toBeNull();
  });

  it("does not stand before others that wait, unlike an interrupted one", async () => {
    const [earlier, failing] = await submit({ needs: { labels: { region: "eu" } } }, {});
    const job = await take(second);
    expect(job.id).toBe(failing);
    await end(second, job, FAILED);
    await pass(FIRST_WAIT_MS, [first, second]);
    const live = test.hub.live.nodes.get(second.nodeId);
    if (live !== undefined) live.facts = { ...live.facts, labels: { region: "eu" } };
    // Both are due: the order of submission counts again.
    expect((await take(second)).id).toBe(earlier);
    expect((await take(first)).id).toBe(failing);
  });

  it("wakes a node that waits for a job when its wait ends", async () => {
    await submit({});
    await end(first, await take(first), FAILED);
    const answer = ask(second, { waitSeconds: 25 });
    await vi.waitFor(() => expect(test.hub.jobs.queues.get("default")?.signal.waiting).toBe(1), 20_000);
    await pass(FIRST_WAIT_MS, [first, second]);
    expect((await answer).job).not.toBeNull();
  });

  it("wakes a node also when the clock of the hub was set back", async () => {
    const [id = ""] = await submit({});
    await test.hub.db.job.update({ where: { id }, data: { dueAt: new Date(test.hub.now() - 500) } });
    await withQueue(test.hub.jobs, "default", async (queue) => {
      const before = queue.version;
      test.hub.jobs.dueThrough = test.hub.now() + 3_600_000;
      await keepJobs(test.hub);
      expect(queue.version).toBeGreaterThan(before);
      expect(test.hub.jobs.dueThrough).toBeLessThanOrEqual(test.hub.now());
    });
  });

  it("is kept from a machine that its code blames, and only for an hour", async () => {
    const [id = ""] = await submit({ policy: { mostFailures: 9, exitCodes: { banMachine: [13] } } });
    await end(first, await take(first), { kind: "exited", code: 13 });
    await pass(FIRST_WAIT_MS, [first, second]);
    expect((await read(id)).bans).toMatchObject([{ node: { id: first.nodeId, name: "gpu-1" } }]);
    expect((await ask(first)).job).toBeNull();
    const exit: AttemptExit = { kind: "interrupted", why: "drained" };
    expect(await end(second, await take(second), exit)).toBe(true);
    await jump(3_600_000, [first, second]);
    expect((await take(first)).id).toBe(id);
    expect((await read(id)).bans).toEqual([]);
  });

  it("can be retried by a person, with no failure counted and no machine banned", async () => {
    const [id = "", other = ""] = await submit({ policy: { mostFailures: 1 } }, { policy: { mostFailures: 1 } });
    await end(first, await take(first), { kind: "refused", why: "no such command" });
    await end(second, await take(second), FAILED);
    expect(await people().retry({ which: { ids: [id] }, dryRun: true })).toEqual({ found: 1, changed: 1, running: 0 });
    expect(await stateOf(id)).toBe("failed");
    expect(await people().retry({ which: { ids: [id] } })).toMatchObject({ changed: 1 });
    expect(await read(id)).toMatchObject({ state: "waiting", failures: 0, endedAt: null, bans: [] });
    expect(await stateOf(other)).toBe("failed");
    expect(await take(first)).toMatchObject({ id, attempt: 2 });
  });
});

describe("a limit of a job's policy", () => {
  const poll = (id: string) => nodeOf(first).jobStates({ bootId: bootOf(first), jobs: [{ jobId: id, attempt: 1 }] });
  const wait = (id: string, ms: number) => pass(ms, [first, second], () => poll(id));

  it("ends an attempt that runs too long, which counts", async () => {
    const [id = ""] = await submit({ policy: { longestSeconds: 300, mostFailures: 2 } });
    await take(first);
    await wait(id, 150_000);
    expect(await stateOf(id)).toBe("running");
    await wait(id, 160_000);
    expect(await read(id)).toMatchObject({ state: "waiting", failures: 1 });
    expect((await poll(id)).jobs[0]).toMatchObject({
      state: "over",
      outcome: "failed",
      reason: "ran longer than its policy allows",
    });
  });

  it("does not count the time in which the hub was away", async () => {
    const [id = ""] = await submit({ policy: { noProgressSeconds: 300, mostFailures: 1 } });
    await take(first);
    await wait(id, 150_000);
    await test.stop();
    test.advance(600_000);
    await test.start();
    await wait(id, 150_000);
    expect(await stateOf(id)).toBe("running");
    await wait(id, 160_000);
    expect(await read(id)).toMatchObject({ state: "failed", failures: 1 });
  });

  it("does not count the time in which the node was silent, once its attempt goes on", async () => {
    const [id = ""] = await submit({ policy: { noProgressSeconds: 300, mostFailures: 1 } });
    await take(first);
    await pass(250_000, [second]);
    expect(await stateOf(id)).toBe("waiting");
    await speak(first);
    expect((await poll(id)).jobs[0]).toMatchObject({ state: "current" });
    await wait(id, 150_000);
    expect(await stateOf(id)).toBe("running");
    await wait(id, 160_000);
    expect(await read(id)).toMatchObject({ state: "failed", failures: 1 });
  });

  it("ends an attempt that makes no newer step safe, and lets one go on that does", async () => {
    const [id = ""] = await submit({ run: "llama", policy: { noProgressSeconds: 300, mostFailures: 1 } });
    const { epoch } = await take(first);
    await wait(id, 150_000);
    await makeSafe(test.hub, first, { epoch, step: 10 });
    await wait(id, 200_000);
    expect(await stateOf(id)).toBe("running");
    await wait(id, 120_000);
    expect(await read(id)).toMatchObject({
      state: "failed",
      reason: "made no newer step safe within the time of its policy",
    });
    expect((await read(id)).attemptRows[0]).toMatchObject({ safeStep: 10 });
    expect(await outcomesOf(id)).toEqual(["failed"]);
  });
});
