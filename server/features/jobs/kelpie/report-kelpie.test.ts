import { describe, expect, it } from "vitest";
import { callAs } from "#server/testing/open-test-hub.ts";
import { call, GROUP, kelpieForEach, pass, show, submit, tell, test, work } from "#server/testing/kelpie-for-each.ts";

/** What workers report, and whose report counts. */
kelpieForEach();

const take = async (machine: string): Promise<string> => {
  const id = await work(machine);
  if (id === null) throw new Error("there is no work");
  return id;
};
const statusOf = async (id: string) => (await show(id))["status"];
const events = async () => (await test.hub.db.event.findMany({ orderBy: { id: "asc" } })).map(({ text }) => text);

describe("a heartbeat", () => {
  it("keeps the job, is counted, and is answered with the status", async () => {
    const id = await submit();
    await take("m-1");
    for (let count = 1; count <= 4; count++) {
      await pass(50);
      expect(await tell("m-1", id, "heartbeat")).toEqual({ status: 200, body: { status: "running" } });
    }
    expect(await show(id)).toMatchObject({ status: "running", num_heartbeats: 4, num_failures: 0 });
    expect((await tell("m-1", "00000000-0000-0000-0000-000000000000", "heartbeat")).status).toBe(404);
  });

  it("that is missing for twice its interval interrupts the job without a failure", async () => {
    const id = await submit({ heartbeat_interval: 10 });
    await take("m-1");
    await pass(19);
    expect(await statusOf(id)).toBe("running");
    await pass(2);
    expect(await show(id)).toMatchObject({ status: "pending", num_failures: 0 });
    const machine = "The Kelpie worker on m-1";
    expect((await events()).at(-1)).toContain(`${machine} no longer works on the job python train.py (attempt 1)`);
  });

  it("that comes late goes on with the job if no other machine has it", async () => {
    const id = await submit({ heartbeat_interval: 10 });
    await take("m-1");
    await pass(60);
    expect((await tell("m-1", id, "heartbeat")).body).toEqual({ status: "running" });
    await pass(5);
    expect(await work("m-2")).toBeNull();
    expect((await events()).at(-1)).toContain("The Kelpie worker on m-1 goes on with the job");
  });

  it("tells a machine that lost the job, and one whose job was canceled, to end it", async () => {
    const id = await submit({ heartbeat_interval: 10 });
    await take("m-1");
    await pass(60);
    await take("m-2");
    expect((await tell("m-1", id, "heartbeat")).body).toEqual({ status: "canceled" });
    expect((await tell("m-2", id, "heartbeat")).body).toEqual({ status: "running" });
    await call(`DELETE /jobs/${id}`);
    expect((await tell("m-2", id, "heartbeat")).body).toEqual({ status: "canceled" });
  });
});

describe("an end", () => {
  it("of the machine that has the job counts: completed, or failed up to max_failures", async () => {
    const done = await submit();
    await take("m-1");
    expect(await tell("m-1", done, "completed")).toEqual({ status: 200, body: { message: "Completed reported" } });
    expect(await show(done)).toMatchObject({ status: "completed", completed: expect.any(String) as unknown });

    const id = await submit({ max_failures: 2 });
    await take("m-1");
    expect(await tell("m-1", id, "failed")).toEqual({ status: 202, body: { message: "Failure reported" } });
    expect(await show(id)).toMatchObject({ status: "pending", num_failures: 1 });
    expect(await work("m-2")).toBeNull();
    await pass(60);
    await take("m-2");
    await tell("m-2", id, "failed");
    expect(await show(id)).toMatchObject({ status: "failed", num_failures: 2, failed: expect.any(String) as unknown });
    const { bans } = await callAs(test.hub, "viewer").jobs.get({ id });
    expect(bans.map(({ node }) => node)).toEqual(expect.arrayContaining([{ id: null, name: "m-1" }]));
  });

  it("of another machine, or of an unknown job, is answered and changes nothing", async () => {
    const id = await submit({ heartbeat_interval: 10 });
    await take("m-1");
    await pass(60);
    await take("m-2");
    for (const what of ["completed", "failed"] as const) {
      expect((await tell("m-1", id, what)).status).toBe(what === "completed" ? 200 : 202);
      expect(await show(id)).toMatchObject({ status: "running", machine_id: "m-2", num_failures: 0 });
    }
    const unknown = "00000000-0000-0000-0000-000000000000";
    expect((await tell("m-1", unknown, "completed")).status).toBe(200);
    expect(await tell("m-1", unknown, "failed")).toMatchObject({ status: 404, body: { message: "Job not found" } });
    const elsewhere = { machine_id: "m-2", container_group_id: "other" };
    expect((await call(`POST /jobs/${id}/completed`, elsewhere)).status).toBe(200);
    expect(await statusOf(id)).toBe("running");
  });

  it("never turns a canceled, completed or failed job into another one", async () => {
    const id = await submit();
    await take("m-1");
    await call(`DELETE /jobs/${id}`);
    await tell("m-1", id, "completed");
    await tell("m-1", id, "failed");
    expect(await show(id)).toMatchObject({ status: "canceled", num_failures: 0 });
    const done = await submit();
    await take("m-1");
    await tell("m-1", done, "completed");
    await tell("m-1", done, "failed");
    await call(`DELETE /jobs/${done}`);
    expect(await show(done)).toMatchObject({ status: "completed", num_failures: 0 });
  });

  it("counts after a silence, unless another machine took the job", async () => {
    const id = await submit({ heartbeat_interval: 10 });
    await take("m-1");
    await pass(60);
    expect(await statusOf(id)).toBe("pending");
    await tell("m-1", id, "completed");
    expect(await statusOf(id)).toBe("completed");
  });

  it("needs the machine and the group in its body", async () => {
    const id = await submit();
    await take("m-1");
    for (const body of [{}, { machine_id: "m-1" }, { machine_id: "", container_group_id: GROUP }, "{"])
      expect((await call(`POST /jobs/${id}/completed`, body)).status).toBe(400);
    expect(await statusOf(id)).toBe("running");
  });
});

it("a job that failed and is retried by a person may run on the machines it was kept from", async () => {
  const id = await submit({ max_failures: 1 });
  await take("m-1");
  await tell("m-1", id, "failed");
  await callAs(test.hub, "operator").jobs.retry({ which: { ids: [id] } });
  expect(await work("m-1")).toBe(id);
});

it("a hub that starts again gives a worker time for its next heartbeat, and keeps what it counted", async () => {
  const id = await submit({ heartbeat_interval: 10 });
  await take("m-1");
  await tell("m-1", id, "heartbeat");
  await test.stop();
  test.advance(600_000);
  await test.start();
  await pass(15);
  const row = () => test.hub.db.job.findUniqueOrThrow({ where: { id }, include: { kelpie: true } });
  expect(await row()).toMatchObject({ state: "running", kelpie: { heartbeats: 1 } });
  await pass(6);
  expect(await row()).toMatchObject({ state: "waiting", failures: 0 });
});
