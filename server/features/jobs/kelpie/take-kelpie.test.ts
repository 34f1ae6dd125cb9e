import { describe, expect, it } from "vitest";
import { callAs } from "#server/testing/open-test-hub.ts";
import { call, GROUP, kelpieForEach, pass, show, submit, tell, test, work } from "#server/testing/kelpie-for-each.ts";

/** Hand-out: which machine is given which job. */
kelpieForEach();

describe("work", () => {
  it("is the first job of the group that waits, with its machine and times; else an empty list", async () => {
    const [first, second] = [await submit(), await submit()];
    await submit({ container_group_id: "other" });
    expect(await work("m-1")).toBe(first);
    expect(await show(first)).toMatchObject({ status: "running", machine_id: "m-1", num_heartbeats: 0 });
    expect(Object.keys(await show(first))).toEqual(expect.arrayContaining(["started", "heartbeat"]));
    expect(await work("m-2")).toBe(second);
    expect(await call(`GET /work?machine_id=m-3&container_group_id=${GROUP}`)).toEqual({ status: 200, body: [] });
    for (const query of ["", "?machine_id=m-1", `?machine_id=&container_group_id=${GROUP}`])
      expect((await call(`GET /work${query}`)).status).toBe(400);
  });

  it("is never given to two machines that ask at once", async () => {
    const ids = new Set(await Promise.all(Array.from({ length: 20 }, () => submit())));
    const given = await Promise.all(Array.from({ length: 40 }, (_, index) => work(`m-${index}`)));
    const jobs = given.filter((id) => id !== null);
    expect(jobs).toHaveLength(20);
    expect(new Set(jobs)).toEqual(ids);
    expect(await test.hub.db.jobAttempt.count()).toBe(20);
  });

  it("is an interrupted job before one that was submitted earlier", async () => {
    const failed = await submit();
    await work("m-1");
    await tell("m-1", failed, "failed");
    const lost = await submit();
    expect(await work("m-1")).toBe(lost);
    await pass(61);
    expect([await work("m-2"), await work("m-3")]).toEqual([lost, failed]);
    expect(await callAs(test.hub, "viewer").jobs.get({ id: lost })).toMatchObject({
      failures: 0,
      attemptRows: [
        { attempt: 2, node: { id: null, name: "m-2" }, outcome: null },
        { attempt: 1, node: { id: null, name: "m-1" }, outcome: "interrupted" },
      ],
    });
  });

  it("goes past jobs that failed on the machine, for an hour, also when they are the first ones", async () => {
    const failing = [];
    for (let index = 0; index < 6; index++) {
      failing.push(await submit());
      await tell("m-1", (await work("m-1")) ?? "", "failed");
    }
    const good = await submit();
    await pass(60);
    expect(await work("m-1")).toBe(good);
    expect(await work("m-1")).toBeNull();
    expect(await work("m-2")).toBe(failing[0]);
    await pass(3_600);
    expect(failing).toContain(await work("m-1"));
  });

  it("is not given out by a queue that is paused", async () => {
    const id = await submit();
    await callAs(test.hub, "operator").jobs.pauseQueue({ queue: GROUP });
    expect(await work("m-1")).toBeNull();
    await callAs(test.hub, "operator").jobs.resumeQueue({ queue: GROUP });
    expect(await work("m-1")).toBe(id);
  });

  it("fails a job whose row cannot be read, and goes on with the next", async () => {
    const [bad, good] = [await submit(), await submit()];
    await test.hub.db.job.update({ where: { id: bad }, data: { spec: "{" } });
    expect([await work("m-1"), await work("m-1")]).toEqual([null, good]);
    expect(await callAs(test.hub, "viewer").jobs.get({ id: bad })).toMatchObject({ state: "failed", spec: null });
    const third = await submit();
    await test.hub.db.kelpieJob.update({ where: { jobId: third }, data: { storage: "{" } });
    expect([await work("m-1"), await work("m-1")]).toEqual([null, null]);
    expect(await callAs(test.hub, "viewer").jobs.get({ id: third })).toMatchObject({ state: "failed", attempts: 1 });
    const { body } = await call("GET /jobs");
    expect(body).toMatchObject({ _count: 1, jobs: [{ id: good }] });
  });
});
