import { describe, expect, it, vi } from "vitest";
import { refuseChange } from "#server/testing/test-database.ts";
import {
  ask,
  DONE,
  end,
  first,
  jobsForEach,
  nodeOf,
  outcomesOf,
  pass,
  people,
  profileId,
  read,
  second,
  stateOf,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";
import { notifyQueues, withQueue, type QueueMemory } from "#server/core/live/job-memory.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { fault } from "#server/testing/match-fault.ts";
import { addTestNode, type TestNode } from "#server/testing/open-test-hub.ts";

/** Which job a node is given, and that no job is given to two. */

jobsForEach();

describe("many nodes that ask at once", () => {
  it("are given every job, and none of them twice", async () => {
    const nodes: TestNode[] = [first, second];
    while (nodes.length < 8) nodes.push(await addTestNode(test.hub, profileId, `gpu-${nodes.length + 1}`));
    const ids = await submit(...Array.from({ length: 40 }, (_, index) => ({ name: `sweep-${index}` })));
    const taken = await Promise.all(
      nodes.map(async (who) => {
        const mine: string[] = [];
        for (;;) {
          const { job } = await ask(who);
          if (job === null) return mine;
          mine.push(`${job.id} ${job.attempt}`);
          expect(await end(who, job, DONE)).toBe(true);
        }
      }),
    );
    expect(taken.flat().toSorted()).toEqual(ids.map((id) => `${id} 1`).toSorted());
    expect(taken.filter((mine) => mine.length > 0).length).toBeGreaterThan(1);
    expect(await test.hub.db.job.count({ where: { state: "done" } })).toBe(40);
    expect(await test.hub.db.jobAttempt.count()).toBe(40);
  });

  it("are given one job once when there is only one", async () => {
    await submit({});
    const answers = await Promise.all([ask(first), ask(second)]);
    expect(answers.filter(({ job }) => job !== null)).toHaveLength(1);
  });
});

describe("the order of a queue", () => {
  it("is priority, then interruption, then submission", async () => {
    const [low, usual, later, high] = await submit({ priority: -1 }, {}, {}, { priority: 5 });
    const taken = await take(first);
    expect(taken.id).toBe(high);
    const next = await take(second);
    expect(next.id).toBe(usual);
    await end(second, next, DONE);
    const last = await take(second);
    expect(last.id).toBe(later);
    await end(second, last, { kind: "interrupted", why: "gpu-2 is drained" });
    const [fresh] = await submit({});
    expect((await take(second)).id).toBe(later);
    expect((await take(first, { holds: [{ jobId: taken.id, attempt: 1 }] })).id).toBe(fresh);
    expect(await stateOf(low ?? "")).toBe("waiting");
  });

  it("has an interrupted job before one that was submitted earlier", async () => {
    const [earlier, interrupted] = await submit({ needs: { labels: { region: "eu" } } }, {});
    const job = await take(second);
    expect(job.id).toBe(interrupted);
    await end(second, job, { kind: "interrupted", why: "gpu-2 is drained" });
    const live = test.hub.live.nodes.get(second.nodeId);
    if (live !== undefined) live.facts = { ...live.facts, labels: { region: "eu" } };
    const again = await take(second);
    expect(again.id).toBe(interrupted);
    await end(second, again, DONE);
    expect((await take(second)).id).toBe(earlier);
  });

  it("skips a job that the node cannot take, for a later one that it can", async () => {
    const [gpu, disk, label, free] = await submit(
      { needs: { gpuMemoryBytes: 24e9 } },
      { needs: { diskBytes: 1e12 } },
      { needs: { labels: { region: "eu" } } },
      {},
    );
    const small = { diskBytes: 1e9 };
    const taken = await take(first, small);
    expect(taken.id).toBe(free);
    const holds = [{ jobId: taken.id, attempt: 1 }];
    expect(await ask(first, { ...small, holds })).toEqual({
      job: null,
      why: "3 jobs wait in the queue default, and this node can take none now: needs, bans, or runs that others write",
    });
    expect((await take(second, { ...small, gpuMemoryBytes: 24e9 })).id).toBe(gpu);
    await end(first, taken, DONE);
    expect((await take(first, { diskBytes: 1e12 })).id).toBe(disk);
    expect(await stateOf(label ?? "")).toBe("waiting");
    const live = test.hub.live.nodes.get(second.nodeId);
    if (live !== undefined) live.facts = { ...live.facts, labels: { region: "eu" } };
    expect((await take(second, { holds: [{ jobId: gpu ?? "", attempt: 1 }], ...small })).id).toBe(label);
  });

  it("gives out one job of a run at a time, and the next one when it ends", async () => {
    const [one, two] = await submit({ run: "llama" }, { run: "llama" });
    const taken = await take(first);
    expect(taken.id).toBe(one);
    expect((await ask(second)).job).toBeNull();
    await end(first, taken, DONE);
    expect((await take(second)).id).toBe(two);
  });

  it("keeps to the patterns of the node's token, and to the bucket of the run", async () => {
    const live = test.hub.live.nodes.get(first.nodeId);
    if (live !== undefined) live.mayWrite = "llama-*";
    const [other, fits] = await submit({ run: "mistral" }, { run: "llama-2" });
    expect((await take(first)).id).toBe(fits);
    expect(await stateOf(other ?? "")).toBe("waiting");
    const elsewhere = await test.hub.db.profile.findFirstOrThrow();
    await test.hub.db.profile.create({ data: { ...elsewhere, id: "another-profile", name: "another" } });
    await test.hub.db.run.create({ data: { name: "mistral", profileId: "another-profile", createdAt: new Date() } });
    expect((await ask(second)).job).toBeNull();
  });

  it("stops while the queue is paused, without a word to jobs that run", async () => {
    const [running] = await submit({}, {});
    const taken = await take(first);
    await people().pauseQueue({ queue: "default" });
    expect(await ask(second)).toEqual({ job: null, why: "the queue default is paused" });
    expect(await stateOf(running ?? "")).toBe("running");
    expect(await end(first, taken, DONE)).toBe(true);
    await people().resumeQueue({ queue: "default" });
    expect((await ask(second)).job).not.toBeNull();
  });
});

describe("a queue in which nothing fits a node", () => {
  const hold = (work: (queue: QueueMemory) => Promise<void>) => withQueue(test.hub.jobs, "default", work);
  const dueNow = (id: string) => test.hub.db.job.update({ where: { id }, data: { needGpuBytes: 0 } });

  it("is not searched again before it changes, also for other nodes of the kind that offer no more", async () => {
    const [id = ""] = await submit({ needs: { gpuMemoryBytes: 24e9 } });
    await hold(async (queue) => {
      const nothing = await ask(first, { gpuMemoryBytes: 16e9 });
      expect(nothing.why).toContain("one job waits");
      // Nothing in the hub changes a need. So an answer from memory can be told from a new search.
      await dueNow(id);
      expect(await ask(second, { gpuMemoryBytes: 8e9 })).toEqual(nothing);
      notifyQueues(test.hub.jobs, ["default"]);
      expect(queue.nothing[0]?.version).toBeLessThan(queue.version);
      expect((await take(second, { gpuMemoryBytes: 8e9 })).id).toBe(id);
    });
  });

  it("is searched for a node that offers more, and for others when only this one is banned", async () => {
    const [id = "", other = ""] = await submit({ needs: { gpuMemoryBytes: 24e9 } }, {});
    const until = new Date(test.hub.now() + 30_000);
    await test.hub.db.jobBan.create({ data: { jobId: other, nodeId: first.nodeId, until, reason: "" } });
    await hold(async () => {
      expect((await ask(first)).job).toBeNull();
      expect((await take(second)).id).toBe(other);
      expect((await ask(first)).job).toBeNull();
      expect((await take(first, { gpuMemoryBytes: 24e9 })).id).toBe(id);
    });
  });

  it("has the right first job behind more than a page of those that do not fit", async () => {
    const misfits = Array.from({ length: 130 }, () => ({ needs: { labels: { region: "eu" } } }));
    const ids = await submit(...misfits, { priority: -1 }, {});
    expect((await take(first)).id).toBe(ids[131]);
    expect((await take(second)).id).toBe(ids[130]);
  });

  it("gives nothing to a call that ended while it waited for others", async () => {
    await submit({});
    const locked = vi.spyOn(test.hub.locks, "run");
    const gate = Promise.withResolvers<undefined>();
    const others = test.hub.locks.run("queue default", () => gate.promise);
    const earlier = ask(first);
    await vi.waitFor(
      () => expect(locked.mock.calls.filter(([key]) => key === "queue default")).toHaveLength(2),
      20_000,
    );
    const later = ask(first);
    await vi.waitFor(
      () => expect(locked.mock.calls.filter(([key]) => key.startsWith("jobs of"))).toHaveLength(2),
      20_000,
    );
    gate.resolve(undefined);
    await others;
    expect((await earlier).job).toBeNull();
    expect((await later).job).not.toBeNull();
  });
});

describe("a node that waits for a job", () => {
  const isWaiting = (who: TestNode) => test.hub.jobs.waiting.has(who.nodeId);
  const sleepers = () => test.hub.jobs.queues.get("default")?.signal.waiting ?? 0;

  it("is given one as soon as it is submitted", async () => {
    const answer = ask(first, { waitSeconds: 25 });
    await vi.waitFor(() => expect(sleepers()).toBe(1), 20_000);
    const [id] = await submit({});
    expect((await answer).job?.id).toBe(id);
    expect(isWaiting(first)).toBe(false);
    expect(test.hub.jobs.queues.size).toBe(0);
  });

  it("is given one when a pause ends", async () => {
    await submit({});
    await people().pauseQueue({ queue: "default" });
    const answer = ask(first, { waitSeconds: 25 });
    await vi.waitFor(() => expect(sleepers()).toBe(1), 20_000);
    await people().resumeQueue({ queue: "default" });
    expect((await answer).job).not.toBeNull();
  });

  it("gives up an earlier wait when it asks again", async () => {
    const earlier = ask(first, { waitSeconds: 25 });
    await vi.waitFor(() => expect(sleepers()).toBe(1), 20_000);
    const later = ask(first, { waitSeconds: 25 });
    expect(await earlier).toEqual({ job: null, why: null });
    await vi.waitFor(() => expect(sleepers()).toBe(1), 20_000);
    const [id] = await submit({});
    expect((await later).job?.id).toBe(id);
  });

  it("is given nothing once it said goodbye", async () => {
    const answer = ask(first, { waitSeconds: 25 });
    await vi.waitFor(() => expect(sleepers()).toBe(1), 20_000);
    await nodeOf(first).goodbye();
    const [id] = await submit({});
    expect((await answer).job).toBeNull();
    expect(await stateOf(id ?? "")).toBe("waiting");
  });

  it("is given again what it was handed and does not know of", async () => {
    const [id] = await submit({}, {});
    const lost = await take(first);
    expect(lost.id).toBe(id);
    const again = await take(first);
    expect(again).toEqual(lost);
    expect(await outcomesOf(id ?? "")).toEqual([null]);
    const next = await take(first, { holds: [{ jobId: lost.id, attempt: lost.attempt }] });
    expect(next.id).not.toBe(id);
  });
});

/** Lets the bucket refuse everything during a call. */
async function whileRefused<T>(error: Error, call: () => Promise<T>): Promise<T> {
  const { stores } = test.hub;
  const open = stores.open.bind(stores);
  const refuse = async (): Promise<never> => {
    throw error;
  };
  Object.assign(stores, { open: refuse });
  try {
    return await call();
  } finally {
    Object.assign(stores, { open });
  }
}

describe("a job whose run cannot be claimed", () => {
  it("waits again, for another node first", async () => {
    const [id = ""] = await submit({ run: "llama" });
    const { stores } = test.hub;
    const open = stores.open.bind(stores);
    Object.assign(stores, { open: () => Promise.reject(new Error("away")) });
    expect(await ask(first)).toEqual({ job: null, why: "gpu-1 could not be given the run: the hub had an error" });
    Object.assign(stores, { open });
    expect(await read(id)).toMatchObject({ state: "waiting", failures: 0, bans: [{ node: { id: first.nodeId } }] });
    expect((await ask(first)).job).toBeNull();
    expect(await take(second)).toMatchObject({ id, attempt: 2 });
  });

  it("is not put first, because nobody worked on it", async () => {
    const [earlier = "", id = ""] = await submit({ needs: { labels: { region: "eu" } } }, {});
    await whileRefused(new Fault("ACCESS_DENIED", {}), () => ask(first));
    expect((await read(id)).attempts).toBe(1);
    const live = test.hub.live.nodes.get(second.nodeId);
    if (live !== undefined) live.facts = { ...live.facts, labels: { region: "eu" } };
    expect((await take(second)).id).toBe(earlier);
  });

  it("is no fault of the call, unless a retry may help", async () => {
    await submit({}, {}, {});
    for (const code of ["ACCESS_DENIED", "NO_SUCH_BUCKET"] as const) {
      expect((await whileRefused(new Fault(code, {}), () => ask(first))).job).toBeNull();
    }
    // One job per call: the other jobs of the queue are not tried in a row.
    expect(await test.hub.db.jobAttempt.count()).toBe(2);
    await expect(whileRefused(new Fault("STORE_UNAVAILABLE", {}), () => ask(first))).rejects.toEqual(
      fault("STORE_UNAVAILABLE"),
    );
  });

  it("is given up by the node that was handed it and lost the answer", async () => {
    const [id = ""] = await submit({});
    await take(first);
    expect((await whileRefused(new Fault("ACCESS_DENIED", {}), () => ask(first))).job).toBeNull();
    expect(await stateOf(id)).toBe("waiting");
    expect(await outcomesOf(id)).toEqual(["interrupted"]);
  });
});

describe("a job whose row cannot be read", () => {
  const spoil = (id: string) => test.hub.db.job.update({ where: { id }, data: { spec: "{" } });
  const rowOf = (id: string) => test.hub.db.job.findUniqueOrThrow({ where: { id } });

  it("fails when it would be handed out, before its run is claimed, and the next job is given", async () => {
    const [bad = "", next] = await submit({ run: "llama" }, {});
    await spoil(bad);
    expect((await take(first)).id).toBe(next);
    expect(await rowOf(bad)).toMatchObject({ state: "failed", reason: "its spec cannot be read" });
    expect(await test.hub.db.run.count({ where: { name: "llama" } })).toBe(0);
  });

  it("fails when its node is lost, like all others of that moment", async () => {
    const [bad = "", other = ""] = await submit({}, {});
    const { id, attempt } = await take(first);
    await take(first, { holds: [{ jobId: id, attempt }] });
    await spoil(bad);
    await pass(60_000, [second]);
    expect(await rowOf(bad)).toMatchObject({ state: "failed", reason: "its spec cannot be read" });
    expect(await stateOf(other)).toBe("waiting");
  });

  it("does not keep the others from ending when its end cannot be stored", async () => {
    const [bad = "", other = ""] = await submit({}, {});
    const { id, attempt } = await take(first);
    await take(first, { holds: [{ jobId: id, attempt }] });
    await refuseChange(test.hub.db, { table: "Job", change: "UPDATE", rows: `OLD."id" = '${bad}'` });
    await pass(60_000, [second]);
    expect(await stateOf(bad)).toBe("running");
    expect(await stateOf(other)).toBe("waiting");
  });
});
