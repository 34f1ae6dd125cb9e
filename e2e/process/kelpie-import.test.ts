import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSaladEmulator, type SaladEmulator } from "#storage/testing/salad-emulator.ts";
import { nodeName } from "#protocol/base/names.ts";
import { queueName } from "#protocol/jobs/job-spec.ts";
import { createKelpieClient, type KelpieClient } from "../stage/kelpie-client.ts";
import { startKelpieEmulator, type KelpieEmulator } from "../stage/kelpie-emulator.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** `tidemark jobs import`: a queue of a running Kelpie, and a file of its jobs. */
let stage: Stage;
let kelpie: KelpieEmulator;
let token: string;
let salad: SaladEmulator;
beforeAll(async () => {
  salad = await startSaladEmulator();
  stage = await openStage({ hub: { env: { TIDEMARK_SALAD_API_URL: salad.url } } });
  ({ token } = await stage.client.apiTokens.create.mutate({ name: "import", role: "operator" }));
  kelpie = await startKelpieEmulator();
});
afterAll(async () => {
  await kelpie.close();
  await stage.close();
  await salad.close();
});

const tidemark = (args: string[]) => {
  const env = { TIDEMARK_HUB: stage.hub.url, TIDEMARK_API_TOKEN: token, KELPIE_API_KEY: kelpie.key };
  return runOnce(testedWorker(), ["jobs", "import", ...args], { env });
};
const there = (group: string) => createKelpieClient({ url: kelpie.url, token: kelpie.key, group });
const here = (group: string) => createKelpieClient({ url: stage.hub.url, token, group });

/** A program that notes its name when it has run to its end, and is not held by the file `hold`. */
const noting = (name: string, folder: string) => ({
  command: "sh",
  arguments: ["-c", 'while test -e "$1/hold"; do sleep 0.05; done; echo "$NAME" >> "$1/done"', "job", folder],
  environment: { NAME: name },
  heartbeat_interval: 1,
});

/** Asks for work and does it until `isOver`. */
async function work(client: KelpieClient, machine: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    if ((await client.workOnce(machine)) === null) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("a running queue moves: every job runs to its end once, also those that a worker there had, or ended while they moved", async () => {
  const names = Array.from({ length: 24 }, (_, index) => `job-${index}`);
  writeFileSync(join(stage.dir, "hold"), "");
  const old = there("moving");
  for (const name of names) await old.submit(noting(name, stage.dir));
  let isOver = false;
  const machines = ["m-1", "m-2", "m-3"];
  const working = machines.map((machine) => work(old, machine, () => isOver));
  await waitUntil(
    "three jobs run there",
    async () => kelpie.jobs.filter(({ status }) => status === "running").length === 3,
  );
  working.push(...machines.map((machine) => work(here("moving"), `new-${machine}`, () => isOver)));

  const shown = await tidemark(["--kelpie", `${kelpie.url}/kelpie`]);
  expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining("24 jobs of 1 queues would be imported")]);
  expect(await here("moving").call("GET /jobs")).toMatchObject({ body: { _count: 0 } });

  const moving = tidemark(["--kelpie", `${kelpie.url}/kelpie`, "--move"]);
  await waitUntil("the jobs are canceled there", async () => kelpie.jobs.some(({ status }) => status === "canceled"));
  // The programs there end now: some are stopped before, and some report their completion after the cancellation.
  rmSync(join(stage.dir, "hold"));
  const moved = await moving;
  expect([moved.code, moved.stdout]).toEqual([0, expect.stringContaining("moved")]);
  const done = () => readFileSync(join(stage.dir, "done"), "utf8").trim().split("\n");
  await waitUntil("every job has ended", async () => new Set(done()).size === names.length);
  await waitUntil("nothing waits or runs here", async () => {
    const { rows } = await stage.client.jobs.list.query({ queue: "moving", states: ["waiting", "running"] });
    return rows.length === 0;
  });
  isOver = true;
  await Promise.all(working);
  // A program that was stopped between its note and its end is not reported, and runs again: reported ends are counted.
  const { body } = await here("moving").call("GET /jobs?status=completed&container_group_id=moving&page_size=100");
  const nameOf = (job: Record<string, unknown>) => (job["environment"] as { NAME: string }).NAME;
  const completedThere = kelpie.jobs.filter((job) => job["completed"] !== undefined).map(nameOf);
  const completedHere = (body["jobs"] as Record<string, unknown>[]).map(nameOf);
  expect([...completedThere, ...completedHere].toSorted()).toEqual(names.toSorted());
  expect(kelpie.jobs.filter(({ status }) => status === "pending" || status === "running")).toEqual([]);
});

test("scaling rules move with the groups that an account of the hub has, and the others stay there and are named", async () => {
  const { organization, project, key } = salad;
  const account = { name: nodeName.parse("salad"), provider: "salad" as const, organization, project };
  const { id: accountId } = await stage.client.groups.accounts.create.mutate({ account, key });
  const [trainers, others] = [salad.addGroup("trainers"), salad.addGroup("others")];
  const limits = { min: 1, max: 2, idleMs: 0, cooldownMs: 0 };
  const own = queueName.parse("own");
  await stage.client.groups.setRule.mutate({ accountId, group: "others", queue: own, limits });
  const elsewhere = "3f6c1f2e-8f7e-4c39-9a4b-0b6f1a5f9a01";
  for (const group of [trainers.id, others.id, elsewhere])
    kelpie.rules.set(group, {
      container_group_id: group,
      min_replicas: 1,
      max_replicas: 7,
      idle_threshold_seconds: 240,
      org_name: organization,
    });

  const shown = await tidemark(["--kelpie", `${kelpie.url}/kelpie`]);
  expect(shown.stderr + shown.stdout).toContain("one scaling rule would be set");
  expect(kelpie.rules.size).toBe(3);
  const readRules = async () => {
    const { groups } = await stage.client.groups.list.query({ accountId });
    return Object.fromEntries(groups.map(({ name, rule }) => [name, rule === null ? null : [rule.queue, rule.limits]]));
  };
  expect(await readRules()).toEqual({ trainers: null, others: ["own", limits] });

  const moved = await tidemark(["--kelpie", `${kelpie.url}/kelpie`, "--move", "--json"]);
  expect(moved.code).toBe(0);
  const lines = (moved.stderr + moved.stdout).split("\n").flatMap((line) => (line.startsWith("{") ? [line] : []));
  expect(lines.map((line): unknown => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ type: "scaling-rules", set: [trainers.id], kept: [others.id], left: [elsewhere] }),
  );
  expect([...kelpie.rules.keys()]).toEqual([elsewhere]);
  expect(await readRules()).toMatchObject({
    trainers: [trainers.id, { min: 1, max: 7, idleMs: 240_000 }],
    others: ["own", limits],
  });
  // A client of Kelpie reads it here as it did there.
  const client = here(trainers.id);
  expect(await client.call(`GET /scaling-rules/${trainers.id}`)).toMatchObject({
    status: 200,
    body: { container_group_id: trainers.id, min_replicas: 1, max_replicas: 7, idle_threshold_seconds: 240 },
  });
});

test("a file of jobs is imported once, however often it is read, and a bad job leaves only itself out", async () => {
  const job = { command: "true", container_group_id: "filed", sync: {} };
  const file = join(stage.dir, "jobs.json");
  const jobs = [
    { ...job, id: "a", num_failures: 1, status: "running" },
    { ...job, id: "b", heartbeat_interval: 2, max_failures: 1 },
    { ...job, id: "c", command: "" },
  ];
  writeFileSync(file, JSON.stringify({ _count: 3, jobs }));
  const first = await tidemark([file]);
  expect([first.code, first.stdout]).toEqual([8, expect.stringContaining("c cannot be imported: command")]);
  expect(first.stderr + first.stdout).toContain("max_failures is 1");
  const again = await tidemark([file]);
  expect(again.stdout).toContain("0 jobs of 1 queues, 2 imported before");
  const { body } = await here("filed").call("GET /jobs?container_group_id=filed&asc=true");
  expect(body).toMatchObject({ _count: 2, jobs: [{ num_failures: 1 }, { num_failures: 0, max_failures: 1 }] });
});

test("a wrong key, an address that is no Kelpie and jobs without ids are named, and change nothing", async () => {
  const env = { TIDEMARK_HUB: stage.hub.url, TIDEMARK_API_TOKEN: token, KELPIE_API_KEY: "wrong" };
  const wrong = await runOnce(testedWorker(), ["jobs", "import", "--kelpie", `${kelpie.url}/kelpie`], { env });
  expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining("HTTP 403")]);
  const other = await tidemark(["--kelpie", stage.store.endpoint]);
  expect(other.code).toBe(4);
  const file = join(stage.dir, "no-ids.json");
  writeFileSync(file, JSON.stringify([{ command: "true", container_group_id: "filed", sync: {} }]));
  const nameless = await tidemark([file]);
  expect([nameless.code, nameless.stderr]).toEqual([2, expect.stringContaining("job 1")]);
});
