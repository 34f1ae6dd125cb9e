import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKelpieClient, type KelpieClient } from "../stage/kelpie-client.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** The Kelpie-compatible API of a real hub, with submit scripts and workers that speak it. */
let stage: Stage;
let token: string;
beforeAll(async () => {
  stage = await openStage();
  ({ token } = await stage.client.apiTokens.create.mutate({ name: "kelpie", role: "operator" }));
});
afterAll(() => stage.close());

/** A client of a group of its own. */
const clientOf = (group: string): KelpieClient => createKelpieClient({ url: stage.hub.url, token, group });
/** A program that says that it runs, and goes on until the test writes the file. */
const until = (name: string) => ({
  command: "sh",
  arguments: [
    "-c",
    'touch "$1-$KELPIE_JOB_ID"; while ! test -e "$1"; do sleep 0.1; done',
    "job",
    join(stage.dir, name),
  ],
  heartbeat_interval: 1,
});
const runs = (name: string, id: string) =>
  waitUntil(`the program of ${name} runs`, async () => existsSync(join(stage.dir, `${name}-${id}`)));
const letEnd = (name: string) => writeFileSync(join(stage.dir, name), "");

test("a worker takes jobs in their order, runs them, and reports their ends; a failure is tried on other machines", async () => {
  const kelpie = clientOf("ends");
  const good = await kelpie.submit({ command: "true" });
  const bad = await kelpie.submit({ command: "false", max_failures: 2 });
  expect(await kelpie.workOnce("m-1")).toEqual({ id: good, end: "completed" });
  expect(await kelpie.workOnce("m-1")).toEqual({ id: bad, end: "failed" });
  expect(await kelpie.workOnce("m-1")).toBeNull();
  expect((await kelpie.call(`GET /jobs/${bad}`)).body).toMatchObject({ status: "pending", num_failures: 1 });
  const second = await waitUntil("the wait after the failure is over", () => kelpie.workOnce("m-2"));
  expect(second).toEqual({ id: bad, end: "failed" });
  expect(await kelpie.statusOf(bad)).toBe("failed");
  expect((await kelpie.call("GET /jobs?container_group_id=ends&asc=true")).body).toMatchObject({
    _count: 2,
    jobs: [
      { id: good, num_failures: 0 },
      { id: bad, num_failures: 2, machine_id: "m-2" },
    ],
  });
});

test("a canceled job ends at the next heartbeat and stays canceled", async () => {
  const kelpie = clientOf("canceled");
  const id = await kelpie.submit(until("never"));
  const worker = kelpie.workOnce("m-1");
  await runs("never", id);
  await kelpie.call(`DELETE /jobs/${id}`);
  expect(await worker).toEqual({ id, end: "canceled" });
  const about = { machine_id: "m-1", container_group_id: "canceled" };
  expect((await kelpie.call(`POST /jobs/${id}/completed`, about)).status).toBe(200);
  expect(await kelpie.statusOf(id)).toBe("canceled");
});

test("workers that ask at once never get the same job", async () => {
  const kelpie = clientOf("many");
  const jobs = Array.from({ length: 30 }, () => ({ command: "true", container_group_id: "many", sync: {} }));
  expect((await kelpie.call("POST /jobs/batch", jobs)).status).toBe(202);
  const ends = await Promise.all(Array.from({ length: 40 }, (_, index) => kelpie.workOnce(`m-${index}`)));
  const taken = ends.flatMap((end) => (end === null ? [] : [end.id]));
  expect([taken.length, new Set(taken).size]).toEqual([30, 30]);
});

test("a silent machine loses its job without a failure; what it reports later changes nothing", async () => {
  const kelpie = clientOf("silent");
  const id = await kelpie.submit(until("slow"));
  const about = { machine_id: "m-1", container_group_id: "silent" };
  await kelpie.call("GET /work?machine_id=m-1&container_group_id=silent");
  const worker = waitUntil("the job is handed out again", () => kelpie.workOnce("m-2"));
  await runs("slow", id);
  expect((await kelpie.call(`POST /jobs/${id}/heartbeat`, about)).body).toEqual({ status: "canceled" });
  expect((await kelpie.call(`POST /jobs/${id}/completed`, about)).status).toBe(200);
  expect((await kelpie.call(`POST /jobs/${id}/failed`, about)).status).toBe(202);
  expect((await kelpie.call(`GET /jobs/${id}`)).body).toMatchObject({ status: "running", num_failures: 0 });
  letEnd("slow");
  expect(await worker).toEqual({ id, end: "completed" });
});

test("a hub that is killed and starts again leaves a running job with its worker, and hands out nothing twice", async () => {
  const kelpie = clientOf("restart");
  const id = await kelpie.submit({ ...until("long"), heartbeat_interval: 5 });
  const waiting = await kelpie.submit({ command: "true" });
  const worker = kelpie.workOnce("m-1");
  await runs("long", id);
  await stage.killHub();
  letEnd("long");
  await stage.startHubAgain();
  expect(await worker).toEqual({ id, end: "completed" });
  expect(await kelpie.workOnce("m-2")).toEqual({ id: waiting, end: "completed" });
  expect(await kelpie.workOnce("m-2")).toBeNull();
  expect((await stage.client.jobs.get.query({ id })).attemptRows).toMatchObject([{ outcome: "completed" }]);
});

test("tidemark jobs shows that the hub verifies nothing of such a job", async () => {
  const kelpie = clientOf("shown");
  const id = await kelpie.submit({ command: "true" });
  await kelpie.workOnce("m-9");
  const env = { TIDEMARK_HUB: stage.hub.url, TIDEMARK_API_TOKEN: token };
  const { code, stdout } = await runOnce(testedWorker(), ["jobs", "show", id], { env });
  expect([code, stdout]).toEqual([0, expect.stringContaining("synced by Kelpie, not verified")]);
  expect(stdout).toContain("Attempt 1 on m-9");
});
