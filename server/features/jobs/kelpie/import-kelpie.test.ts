import { expect, it } from "vitest";
import { callAs } from "#server/testing/open-test-hub.ts";
import { call, GROUP, kelpieForEach, submit, test } from "#server/testing/kelpie-for-each.ts";

/** `jobs.importKelpie`: jobs that come from another Kelpie. */
kelpieForEach();

const SUBMISSION = { command: "python", container_group_id: GROUP, sync: {} };
const importThem = (
  jobs: { id: string; failures?: number; waitSeconds?: number; submission?: object }[],
  dryRun = false,
) =>
  callAs(test.hub, "operator").jobs.importKelpie({
    jobs: jobs.map((job) => ({ ...job, submission: { ...SUBMISSION, ...job.submission } })),
    dryRun,
  });
const listed = async () => (await call(`GET /jobs?container_group_id=${GROUP}&asc=true`)).body["jobs"] as object[];

it("an imported job is a job of Kelpie with its failures, and is handed out to Kelpie workers", async () => {
  const { jobs } = await importThem([{ id: "old-1", failures: 2, submission: { max_failures: 5 } }]);
  expect(jobs).toEqual([{ kelpieId: "old-1", id: expect.any(String) as unknown, isNew: true }]);
  expect(await listed()).toMatchObject([{ id: jobs[0]?.id, num_failures: 2, max_failures: 5, status: "pending" }]);
  const { body } = await call(`GET /work?machine_id=m-1&container_group_id=${GROUP}`);
  expect(body).toMatchObject([{ id: jobs[0]?.id }]);
});

it("a second import changes nothing, also of a part, in another order, twice in one call and by another person", async () => {
  const first = await importThem([{ id: "a" }, { id: "b" }, { id: "a" }]);
  const [a, b, twice] = first.jobs;
  expect([a?.id, twice?.isNew]).toEqual([twice?.id, true]);
  const again = await callAs(test.hub, "admin").jobs.importKelpie({
    jobs: ["c", "b", "a"].map((id) => ({ id, submission: { ...SUBMISSION, command: "other" } })),
  });
  expect(again.jobs).toMatchObject([{ isNew: true }, { isNew: false, id: b?.id }, { isNew: false, id: a?.id }]);
  expect(await listed()).toMatchObject([{ command: "python" }, { command: "python" }, { command: "other" }]);
});

it("a dry run stores nothing and tells what is known", async () => {
  await importThem([{ id: "a" }]);
  const { jobs } = await importThem([{ id: "a" }, { id: "b" }], true);
  expect(jobs).toMatchObject([
    { kelpieId: "a", isNew: false },
    { kelpieId: "b", isNew: true, id: null },
  ]);
  expect(await listed()).toHaveLength(1);
});

it("a job that waits is not handed out before", async () => {
  await importThem([{ id: "a", waitSeconds: 60 }]);
  const ask = () => call(`GET /work?machine_id=m-1&container_group_id=${GROUP}`);
  expect((await ask()).body).toEqual([]);
  test.advance(60_000);
  expect((await ask()).body).toHaveLength(1);
});

it("one bad webhook refuses all, by the id of its job", async () => {
  const webhook = "http://169.254.169.254/latest";
  await expect(importThem([{ id: "a" }, { id: "b", submission: { webhook } }])).rejects.toMatchObject({
    message: expect.stringContaining("the job b of Kelpie") as unknown,
  });
  expect(await listed()).toEqual([]);
});

it("a job that was submitted is none that was imported", async () => {
  await submit({});
  const { jobs } = await importThem([{ id: "a" }]);
  expect(jobs).toMatchObject([{ isNew: true }]);
});
