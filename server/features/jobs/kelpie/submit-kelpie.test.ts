import { describe, expect, it } from "vitest";
import { addTestNode, callAs } from "#server/testing/open-test-hub.ts";
import {
  call,
  callWith,
  GROUP,
  JOB,
  kelpieForEach,
  makeToken,
  show,
  submit,
  test,
} from "#server/testing/kelpie-for-each.ts";

/** What submit scripts do: they send, read, list and cancel jobs in Kelpie's form. */
kelpieForEach();

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.000Z$/;
const LEGACY = {
  input_bucket: "in",
  input_prefix: "a",
  checkpoint_bucket: "ckpt",
  checkpoint_prefix: "b/",
  output_bucket: "out",
  output_prefix: "c",
};

describe("a submission", () => {
  it("is answered with the job in Kelpie's form: defaults, no unset times, no unknown fields, slashes added", async () => {
    const sync = { during: [{ bucket: "b", prefix: "job1", local_path: "/ckpt", direction: "upload", pattern: "^x" }] };
    const { status, body } = await call("POST /jobs", { ...JOB, sync, environment: { A: "1" }, owner: "me" });
    expect(status).toBe(202);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      user_id: expect.any(String) as unknown,
      status: "pending",
      created: expect.stringMatching(TIME) as unknown,
      num_failures: 0,
      num_heartbeats: 0,
      machine_id: null,
      container_group_id: GROUP,
      command: "python",
      arguments: ["train.py"],
      environment: { A: "1" },
      max_failures: 3,
      heartbeat_interval: 30,
      webhook: null,
      compression: false,
      sync: { during: [{ ...sync.during[0], prefix: "job1/" }] },
    });
    expect(await show(String(body["id"]))).toEqual(body);
  });

  it("may have the six legacy fields in place of sync, and gets them back alone", async () => {
    const job = { command: "python", container_group_id: GROUP };
    const { body } = await call("POST /jobs", { ...job, ...LEGACY, compression: true });
    expect(body).toMatchObject({ ...LEGACY, input_prefix: "a/", output_prefix: "c/", compression: true });
    expect(body).not.toHaveProperty("sync");
  });

  it("is stored whole or not at all: a batch names its first bad job by its index", async () => {
    const refused = await call("POST /jobs/batch", [JOB, { ...JOB, max_failures: 0 }, { ...JOB, command: 1 }]);
    expect(refused).toMatchObject({ status: 400, body: { error: "Bad Request", index: 1 } });
    expect(await test.hub.db.job.count()).toBe(0);
    const { status, body } = await call("POST /jobs/batch", [JOB, { ...JOB, command: "sh" }]);
    expect(status).toBe(202);
    expect((body as unknown as { command: string }[]).map(({ command }) => command)).toEqual(["python", "sh"]);
    const tooMany = await call(
      "POST /jobs/batch",
      Array.from({ length: 1_001 }, () => JOB),
    );
    expect(tooMany.status).toBe(400);
    expect(await test.hub.db.audit.findMany({ where: { action: "submit jobs" } })).toMatchObject([
      { actor: "grace@example.com (API token kelpie)", subject: `2 jobs of Kelpie to the queue ${GROUP}` },
    ]);
  });

  it("of a thousand long jobs is read in another thread", async () => {
    const long = { ...JOB, environment: { TEXT: "x".repeat(1_000) } };
    const { status, body } = await call(
      "POST /jobs/batch",
      Array.from({ length: 1_000 }, () => long),
    );
    expect([status, (body as unknown as unknown[]).length]).toEqual([202, 1_000]);
  });
});

describe("a list", () => {
  it("has one page by status and group, in either order, with its own length as the count", async () => {
    const ids = [await submit(), await submit(), await submit({ container_group_id: "other" })];
    await call(`DELETE /jobs/${ids[1] ?? ""}`);
    const list = async (query: string) => {
      const { body } = await call(`GET /jobs${query}`);
      const jobs = body["jobs"] as { id: string }[];
      return [body["_count"], jobs.map(({ id }) => ids.indexOf(id))];
    };
    expect(await list("")).toEqual([3, [2, 1, 0]]);
    expect(await list("?asc=true&page_size=2")).toEqual([2, [0, 1]]);
    expect(await list("?asc=true&page_size=2&page=2")).toEqual([1, [2]]);
    expect(await list(`?container_group_id=${GROUP}&status=pending`)).toEqual([1, [0]]);
    expect((await call("GET /jobs?page_size=1001")).status).toBe(400);
    expect((await call("GET /jobs?status=waiting")).status).toBe(400);
  });

  it("has jobs of Kelpie alone, and only those can be read and canceled here", async () => {
    const { jobs } = await callAs(test.hub, "operator").jobs.submit({ jobs: [{ command: "python", queue: GROUP }] });
    const [own] = jobs;
    expect((await call("GET /jobs")).body["_count"]).toBe(0);
    expect((await call(`GET /jobs/${own?.id ?? ""}`)).status).toBe(404);
    expect((await call(`DELETE /jobs/${own?.id ?? ""}`)).status).toBe(202);
    expect((await call(`DELETE /jobs/container-groups/${GROUP}`)).body).toEqual({ count: 0 });
    expect(await callAs(test.hub, "viewer").jobs.get({ id: own?.id ?? "" })).toMatchObject({ state: "waiting" });
  });
});

describe("a cancellation", () => {
  it("is answered alike for an unknown job, and is final", async () => {
    const id = await submit();
    expect(await call(`DELETE /jobs/${id}`)).toEqual({ status: 202, body: { message: "Job canceled" } });
    expect(await call("DELETE /jobs/00000000-0000-0000-0000-000000000000")).toMatchObject({ status: 202 });
    expect(await show(id)).toMatchObject({
      status: "canceled",
      machine_id: "user",
      canceled: expect.stringMatching(TIME) as unknown,
    });
    expect(await test.hub.db.audit.count({ where: { action: "cancel jobs" } })).toBe(1);
  });

  it("of a group takes what waits and what runs, and says how many", async () => {
    const ids = [await submit(), await submit()];
    expect((await call(`DELETE /jobs/container-groups/${GROUP}`)).body).toEqual({ count: 2 });
    expect(await Promise.all(ids.map(async (id) => (await show(id))["status"]))).toEqual(["canceled", "canceled"]);
  });
});

it("no node of this hub is given such a job, and its pages mark it", async () => {
  const id = await submit();
  const node = await addTestNode(test.hub, (await test.hub.db.profile.findFirstOrThrow()).id, "gpu-9");
  const asked = { bootId: "boot-of-gpu-9", queue: GROUP, holds: [] };
  expect(await callAs(test.hub, node.caller).node.takeJob(asked)).toEqual({ job: null, why: null });
  const shown = await callAs(test.hub, "viewer").jobs.get({ id });
  expect(shown).toMatchObject({ kelpie: { machine: null, heartbeats: 0 }, node: null, queue: GROUP });
});

it("a viewer reads jobs without the values of their environment, and changes nothing", async () => {
  const id = await submit({ environment: { SECRET: "hush" }, webhook: "https://example.com/hook?key=hush" });
  const key = { "x-kelpie-key": await makeToken("viewer") };
  const shown = await callWith(key, `GET /jobs/${id}`);
  expect(shown).toMatchObject({ status: 200, body: { environment: { SECRET: "" }, webhook: null } });
  for (const way of [
    `DELETE /jobs/${id}`,
    `DELETE /jobs/container-groups/${GROUP}`,
    `GET /work?machine_id=m&container_group_id=${GROUP}`,
  ])
    expect((await callWith(key, way)).status).toBe(403);
  expect((await callWith(key, "POST /jobs", JOB)).status).toBe(403);
  const worker = { machine_id: "m", container_group_id: GROUP };
  expect((await callWith(key, `POST /jobs/${id}/failed`, worker)).status).toBe(403);
  expect(await callWith(key, "GET /users/me")).toMatchObject({ status: 200, body: { username: "grace@example.com" } });
});
