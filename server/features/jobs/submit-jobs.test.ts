import { describe, expect, it } from "vitest";
import { withQueue } from "#server/core/live/job-memory.ts";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import { fault } from "#server/testing/match-fault.ts";
import { addTestPerson, addTestWriter, callAs } from "#server/testing/open-test-hub.ts";
import { nodeForEach, node, test } from "#server/testing/node-for-each.ts";

/** What people do with jobs: they submit, list, cancel and retry them, one or a thousand. */

nodeForEach();

const jobs = () => callAs(test.hub, "operator").jobs;
const submit = async (...drafts: readonly Partial<JobDraft>[]) =>
  (await jobs().submit({ jobs: drafts.map((draft) => ({ command: "python", ...draft })) })).jobs;
const list = (filter: object = {}) => jobs().list({ limit: 200, ...filter });
const namesOf = async (filter: object = {}) => (await list(filter)).rows.map(({ name }) => name);

describe("a submission", () => {
  it("stores a thousand jobs in their order, with one event and one audit row", async () => {
    const drafts = Array.from({ length: 1_000 }, (_, index) => ({
      name: `sweep-${index}`,
      labels: { i: String(index) },
    }));
    const made = await submit(...drafts);
    expect(made.map(({ run }) => run)).toEqual(drafts.map(({ name }) => name));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1_000);
    expect(made.every(({ number }, index) => index === 0 || number > (made[index - 1]?.number ?? Infinity))).toBe(true);
    expect(await test.hub.db.jobLabel.count()).toBe(1_000);
    const events = await test.hub.db.event.findMany({ where: { kind: "job-submitted" } });
    expect(events.map(({ text }) => text)).toEqual(["operator@example.com submitted 1,000 jobs to the queue default"]);
    expect(await test.hub.db.audit.count({ where: { action: "submit jobs" } })).toBe(1);
    await expect(submit(...Array.from({ length: 1_001 }, () => ({})))).rejects.toThrow();
  });

  it("gives a job the run of its name if that is free, and one of its own otherwise", async () => {
    await addTestWriter(test.hub, "taken", node.nodeId);
    const [named, again, taken, odd, none] = await submit(
      { name: "llama" },
      { name: "llama" },
      { name: "taken" },
      { name: "two words" },
      {},
    );
    expect(named?.run).toBe("llama");
    expect(again?.run).toBe(`llama-${again?.id.slice(0, 8)}`);
    expect(taken?.run).toBe(`taken-${taken?.id.slice(0, 8)}`);
    expect(odd?.run).toBe(`job-${odd?.id.slice(0, 8)}`);
    expect(none?.run).toBe(`job-${none?.id.slice(0, 8)}`);
    expect((await submit({ name: "llama", run: "llama" }))[0]?.run).toBe("llama");
  });

  it("is one job for one idempotency key of one person, also twice in a request", async () => {
    const draft = { name: "a", idempotencyKey: "key-1" };
    const [one] = await submit(draft);
    const [again, twice, other] = await submit(draft, draft, { ...draft, idempotencyKey: "key-2" });
    expect(one?.isNew).toBe(true);
    expect([again, twice].map((job) => [job?.id, job?.isNew])).toEqual([
      [one?.id, false],
      [one?.id, false],
    ]);
    expect(other).toMatchObject({ isNew: true });
    const someone = await addTestPerson(test.hub, "else@example.com", "operator");
    const theirs = await callAs(test.hub, someone.caller).jobs.submit({ jobs: [{ command: "python", ...draft }] });
    expect(theirs.jobs[0]).toMatchObject({ isNew: true });
    expect(await test.hub.db.job.count()).toBe(3);
  });

  it("is refused as a whole when a key came with another job", async () => {
    await submit({ idempotencyKey: "key-1" });
    await expect(submit({ name: "b" }, { idempotencyKey: "key-1", priority: 3 })).rejects.toEqual(fault("CONFLICT"));
    expect(await test.hub.db.job.count()).toBe(1);
  });

  it("refuses what no process could be started with", async () => {
    for (const bad of [
      { command: "" },
      { command: "a\0b" },
      { environment: { "A B": "" } },
      { arguments: ["x".repeat(8_193)] },
      { arguments: Array.from({ length: 5 }, () => "x".repeat(8_000)) },
      { queue: "two words" },
      { policy: { exitCodes: { retry: [0] } } },
    ]) {
      await expect(submit(bad)).rejects.toMatchObject({ code: "BAD_REQUEST" });
    }
    expect(await test.hub.db.job.count()).toBe(0);
  });
});

describe("the list of jobs", () => {
  it("has pages, the newest first", async () => {
    await submit(...["a", "b", "c", "d", "e"].map((name) => ({ name })));
    const page = await list({ limit: 2 });
    expect(page.rows.map(({ name }) => name)).toEqual(["e", "d"]);
    const next = await list({ limit: 2, cursor: page.nextCursor });
    expect(next.rows.map(({ name }) => name)).toEqual(["c", "b"]);
    const last = await list({ limit: 2, cursor: next.nextCursor });
    expect([last.rows.map(({ name }) => name), last.nextCursor]).toEqual([["a"], null]);
  });

  it("is filtered by state, queue, run, label, owner and name", async () => {
    const [first] = await submit(
      { name: "one", queue: "a", labels: { team: "vision" } },
      { name: "two", labels: { team: "text" } },
    );
    await jobs().cancel({ which: { ids: [first?.id ?? ""] } });
    const someone = await addTestPerson(test.hub, "else@example.com", "operator");
    await callAs(test.hub, someone.caller).jobs.submit({ jobs: [{ command: "python", name: "three" }] });
    expect(await namesOf({ states: ["canceled"] })).toEqual(["one"]);
    expect(await namesOf({ states: ["waiting", "done"] })).toEqual(["three", "two"]);
    expect(await namesOf({ queue: "a" })).toEqual(["one"]);
    expect(await namesOf({ run: "two" })).toEqual(["two"]);
    expect(await namesOf({ label: { name: "team", value: "text" } })).toEqual(["two"]);
    expect(await namesOf({ label: { name: "team", value: "vis" } })).toEqual([]);
    expect(await namesOf({ owner: "else@example.com" })).toEqual(["three"]);
    expect(await namesOf({ words: "t" })).toEqual(["three", "two"]);
  });

  it("shows labels and the number of failures allowed without reading the spec", async () => {
    const [job] = await submit({ labels: { team: "vision" }, policy: { mostFailures: 7 } });
    await test.hub.db.job.update({ where: { id: job?.id ?? "" }, data: { spec: "{" } });
    expect((await list({})).rows).toMatchObject([{ labels: { team: "vision" }, mostFailures: 7 }]);
  });

  it("shows a job whose spec cannot be read, without it", async () => {
    const [job] = await submit({ labels: { team: "vision" } });
    const id = job?.id ?? "";
    await test.hub.db.job.update({ where: { id }, data: { spec: "{" } });
    for (const who of ["operator", "viewer"] as const)
      expect(await callAs(test.hub, who).jobs.get({ id })).toMatchObject({ labels: { team: "vision" }, spec: null });
  });

  it("refuses a job that watches several folders", async () => {
    await expect(submit({ watch: ["a", "b"] })).rejects.toThrow("a job watches one folder");
    expect((await list({})).rows).toEqual([]);
  });

  it("shows the values of an environment to operators only", async () => {
    const [job] = await submit({ environment: { TOKEN: "secret" } });
    const id = job?.id ?? "";
    expect((await jobs().get({ id })).spec?.environment).toEqual({ TOKEN: "secret" });
    const seen = await callAs(test.hub, "viewer").jobs.get({ id });
    expect(seen.spec?.environment).toEqual({ TOKEN: "" });
    expect(JSON.stringify(await callAs(test.hub, "viewer").jobs.list({ limit: 10 }))).not.toContain("secret");
    await expect(jobs().get({ id: "no-such-job" })).rejects.toEqual(fault("NOT_FOUND"));
  });
});

describe("a change of many jobs", () => {
  it("is counted first, and reaches those that a filter finds", async () => {
    await submit(...Array.from({ length: 600 }, () => ({ queue: "sweep" })), { queue: "other" });
    const which = { filter: { queue: "sweep" } };
    expect(await jobs().cancel({ which, dryRun: true })).toEqual({ found: 600, changed: 600, running: 0 });
    expect((await list({ states: ["canceled"] })).rows).toEqual([]);
    expect(await jobs().cancel({ which })).toEqual({ found: 600, changed: 600, running: 0 });
    expect(await jobs().cancel({ which })).toEqual({ found: 600, changed: 0, running: 0 });
    expect(await jobs().queues()).toEqual([
      {
        queue: "other",
        counts: { waiting: 1, running: 0, done: 0, failed: 0, canceled: 0 },
        pausedAt: null,
        pausedBy: null,
        mostRunning: null,
        mostPerOwner: null,
      },
      {
        queue: "sweep",
        counts: { waiting: 0, running: 0, done: 0, failed: 0, canceled: 600 },
        pausedAt: null,
        pausedBy: null,
        mostRunning: null,
        mostPerOwner: null,
      },
    ]);
    const audited = await test.hub.db.audit.findMany({ where: { action: "cancel jobs" } });
    expect(audited.map(({ subject, actor }) => [subject, actor])).toEqual([["600 jobs", "operator@example.com"]]);
  });

  it("is made in transactions of a thousand, and wakes the nodes of all queues when many runs are free", async () => {
    for (let part = 0; part < 2; part++) await submit(...Array.from({ length: 600 }, () => ({ queue: "sweep" })));
    await withQueue(test.hub.jobs, "other", async (queue) => {
      const before = queue.version;
      const which = { filter: { queue: "sweep" } };
      expect(await jobs().cancel({ which })).toEqual({ found: 1_200, changed: 1_200, running: 0 });
      expect(queue.version).toBeGreaterThan(before);
    });
    expect(await test.hub.db.job.count({ where: { state: "canceled" } })).toBe(1_200);
    const audited = await test.hub.db.audit.findMany({ where: { action: "cancel jobs" }, orderBy: { id: "asc" } });
    expect(audited.map(({ subject }) => subject)).toEqual(["1,000 jobs", "200 jobs"]);
    const events = await test.hub.db.event.findMany({ where: { kind: "job-canceled" } });
    expect(events.map(({ text }) => text)).toEqual(["operator@example.com canceled 1,200 jobs"]);
  });

  it("reaches a thousand that are named one by one", async () => {
    const ids = (await submit(...Array.from({ length: 1_000 }, () => ({ queue: "sweep" })))).map(({ id }) => id);
    const which = { ids };
    expect(await jobs().cancel({ which, dryRun: true })).toEqual({ found: 1_000, changed: 1_000, running: 0 });
    await test.hub.db.job.updateMany({ where: { queue: "sweep" }, data: { state: "failed", endedAt: new Date(0) } });
    expect(await jobs().retry({ which, dryRun: true })).toEqual({ found: 1_000, changed: 1_000, running: 0 });
    expect(await jobs().retry({ which })).toEqual({ found: 1_000, changed: 1_000, running: 0 });
    expect(await jobs().cancel({ which })).toEqual({ found: 1_000, changed: 1_000, running: 0 });
  });

  it("of a queue's pause is shown with who did it, also without jobs", async () => {
    await jobs().pauseQueue({ queue: "empty" });
    expect(await jobs().queues()).toMatchObject([{ queue: "empty", pausedBy: "operator@example.com" }]);
    await jobs().resumeQueue({ queue: "empty" });
    expect(await jobs().queues()).toEqual([]);
  });
});
