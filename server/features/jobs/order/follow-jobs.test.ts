import { describe, expect, it } from "vitest";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import { fault } from "#server/testing/match-fault.ts";
import {
  ask,
  DONE,
  end,
  FAILED,
  first,
  jobsForEach,
  people,
  read,
  stateOf,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";

/** Jobs that follow others: held until these are done, failed with them, and waiting again after their retry. */

jobsForEach();

const once = { mostFailures: 1 };
const statesOf = (ids: readonly string[]) => Promise.all(ids.map(stateOf));
const send = (...drafts: Partial<JobDraft>[]) =>
  people().submit({ jobs: drafts.map((draft) => ({ command: "true", ...draft })) });

describe("a job that follows another", () => {
  it("is not handed out before that one is done, whatever its priority, and says so", async () => {
    const [train = "", evaluate = ""] = await submit(
      { name: "train" },
      { name: "evaluate", after: ["train"], priority: 100 },
    );
    expect(await read(evaluate)).toMatchObject({
      state: "waiting",
      dueAt: null,
      reason: "it waits until the job train is done",
      after: [{ id: train, name: "train", state: "waiting" }],
    });
    expect((await read(train)).followers).toEqual([{ id: evaluate, name: "evaluate", state: "waiting" }]);
    const taken = await take(first);
    expect(taken.id).toBe(train);
    const holds = [{ jobId: taken.id, attempt: taken.attempt }];
    expect(await ask(first, { holds })).toEqual({ job: null, why: null });
    // The call that waits is woken by the end.
    const waiting = ask(first, { holds, waitSeconds: 25 });
    await end(first, taken, DONE);
    expect((await waiting).job?.id).toBe(evaluate);
    expect((await read(evaluate)).reason).toBeNull();
  });

  it("waits for all of several, of other queues and of earlier submissions too", async () => {
    const [early = ""] = await submit({ name: "early", queue: "other" });
    const [, last = ""] = await submit({ name: "a" }, { name: "last", after: ["a", early, early] });
    expect((await read(last)).reason).toMatch(/^it waits until the job (a|early) and 1 more are done$/);
    await end(first, await take(first), DONE);
    expect((await read(last)).reason).toBe("it waits until the job early is done");
    expect((await ask(first)).job).toBeNull();
    await end(first, await take(first, { queue: "other" }), DONE);
    expect((await take(first)).id).toBe(last);
  });

  it("follows every earlier job of a name, and one that is done already holds nothing", async () => {
    const [done = ""] = await submit({ name: "done" });
    await end(first, await take(first), DONE);
    const [one = "", two = "", both = "", free = ""] = await submit(
      { name: "twice" },
      { name: "twice", run: "own" },
      { name: "both", after: ["twice"] },
      { name: "free", after: [done], priority: 1 },
    );
    expect((await read(both)).after.map(({ id }) => id).toSorted()).toEqual([one, two].toSorted());
    expect((await take(first)).id).toBe(free);
  });
});

describe("when a job fails for good or is canceled", () => {
  it("those that follow it fail with it, and say why; jobs that only failed for now hold them", async () => {
    const [train = "", evaluate = "", report = ""] = await submit(
      { name: "train", policy: { mostFailures: 2 } },
      { name: "evaluate", after: ["train"] },
      { name: "report", after: ["evaluate"] },
    );
    await end(first, await take(first), FAILED);
    expect(await statesOf([train, evaluate, report])).toEqual(["waiting", "waiting", "waiting"]);
    test.advance(600_000);
    await end(first, await take(first), FAILED);
    expect(await statesOf([train, evaluate, report])).toEqual(["failed", "failed", "failed"]);
    expect((await read(evaluate)).reason).toBe("the job train, which it follows, failed");
    expect((await read(report)).reason).toBe("the job evaluate, which it follows, failed");
    const events = await test.hub.db.event.findMany({ where: { kind: "job-failed" } });
    expect(events.map(({ text }) => text)).toContain("2 jobs failed: a job that goes before did not complete");
  });

  it("a retry lets them wait again with it, and not those that failed by themselves", async () => {
    const [train = "", evaluate = "", report = ""] = await submit(
      { name: "train", policy: once },
      { name: "evaluate", after: ["train"], policy: once },
      { name: "report", after: ["evaluate"] },
    );
    await end(first, await take(first), FAILED);
    await people().retry({ which: { ids: [train] } });
    expect(await statesOf([train, evaluate, report])).toEqual(["waiting", "waiting", "waiting"]);
    expect((await read(evaluate)).reason).toBe("it waits until the job train is done");
    await end(first, await take(first), DONE);
    await end(first, await take(first), FAILED);
    expect(await statesOf([train, evaluate, report])).toEqual(["done", "failed", "failed"]);
    await people().retry({ which: { ids: [evaluate] } });
    expect(await statesOf([evaluate, report])).toEqual(["waiting", "waiting"]);
    expect((await take(first)).id).toBe(evaluate);
  });

  it("a follower that is retried alone fails again, with the same reason", async () => {
    const [train = "", evaluate = ""] = await submit({ name: "train" }, { name: "evaluate", after: ["train"] });
    await people().cancel({ which: { ids: [train] } });
    expect(await read(evaluate)).toMatchObject({
      state: "failed",
      reason: "the job train, which it follows, was canceled",
    });
    await people().retry({ which: { ids: [evaluate] } });
    expect(await stateOf(evaluate)).toBe("failed");
    expect((await ask(first)).job).toBeNull();
  });

  it("a chain of a thousand ends in one change", async () => {
    const chain = Array.from({ length: 1_000 }, (_, at) => ({
      name: `n-${at}`,
      after: at === 0 ? [] : [`n-${at - 1}`],
    }));
    const ids = await submit(...chain);
    await people().cancel({ which: { ids: [ids[0] ?? ""] } });
    expect(await test.hub.db.job.count({ where: { state: "failed" } })).toBe(999);
    expect(await stateOf(ids.at(-1) ?? "")).toBe("failed");
  });
});

describe("a submission is refused", () => {
  it("when it follows what does not exist, has failed, was canceled or comes later", async () => {
    const [gone = "", bad = ""] = await submit({ name: "gone", priority: -1 }, { name: "bad", policy: once });
    await people().cancel({ which: { ids: [gone] } });
    await end(first, await take(first), FAILED);
    await expect(send({ after: ["nobody"] })).rejects.toEqual(fault("BAD_INPUT"));
    await expect(send({ after: ["6f9619ff-8b86-4d01-b42d-00c04fc964ff"] })).rejects.toEqual(fault("BAD_INPUT"));
    await expect(send({ after: ["b"] }, { name: "b" })).rejects.toEqual(fault("BAD_INPUT"));
    await expect(send({ after: [gone] })).rejects.toEqual(fault("CONFLICT"));
    await expect(send({ after: [bad] })).rejects.toEqual(fault("CONFLICT"));
    expect(await test.hub.db.job.count()).toBe(2);
  });

  it("when its jobs follow more than 10,000 together", async () => {
    const many = Array.from({ length: 150 }, () => ({ name: "a" }));
    const followers = Array.from({ length: 67 }, () => ({ name: "b", after: ["a"] }));
    await expect(send(...many, ...followers)).rejects.toEqual(fault("BAD_INPUT"));
    expect(await test.hub.db.job.count()).toBe(0);
  });
});
