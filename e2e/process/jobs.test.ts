import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTRPCClient, httpLink } from "@trpc/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import type { JobDetail } from "#protocol/jobs/job-views.ts";
import { runName } from "#protocol/base/names.ts";
import type { HubRouter } from "#server/router.ts";
import { commandOf, listProcesses } from "../gate/process-tree.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { ROOT, type RunningProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** Jobs over a real hub: `tidemark work` on several nodes, which are killed, stopped and cut off, and `tidemark jobs`. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const TRAIN = join(ROOT, "e2e/stage/training-program.ts");
/** A job that trains in its own folder. With `hold` it stops after each step until the test removes the file of that name. */
const training = (name: string, how: { steps: number; hold?: boolean; queue: string }): JobDraft => ({
  name,
  queue: how.queue,
  run: runName.parse(name),
  command: "sh",
  arguments: [
    "-c",
    `${how.hold === true ? `test -e '${flag(name)}' && mkdir -p ckpt && touch ckpt/hold; ` : ""}exec "$0" "$1" "$PWD/ckpt" "$2"`,
    process.execPath,
    TRAIN,
    String(how.steps),
  ],
  watch: ["ckpt"],
});
/** File in the folder of the stage that says that the program of a job holds. */
const flag = (name: string): string => join(stage.dir, `hold-${name}`);

const said = (worker: RunningProcess): string => worker.lines.join("\n");
const workFolder = (node: string): string => join(stage.dir, "nodes", node, "jobs");

const startWorker = (name: string, queue: string, ...flags: string[]): Promise<RunningProcess> =>
  stage.startNode({ name, queue, flags: ["--work-folder", workFolder(name), ...flags] });

async function submit(...jobs: JobDraft[]): Promise<string[]> {
  const made = await stage.client.jobs.submit.mutate({ jobs });
  return made.jobs.map(({ id }) => id);
}
const look = (id: string): Promise<JobDetail> => stage.client.jobs.get.query({ id });
const waitFor = (what: string, id: string, fits: (job: JobDetail) => boolean): Promise<JobDetail> =>
  waitUntil(what, async () => {
    const job = await look(id);
    return fits(job) ? job : null;
  });

async function newestSafe(run: string): Promise<number | null> {
  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(run) });
  const steps = checkpoints.filter(({ state }) => state === "complete").map(({ step }) => step);
  return steps.length === 0 ? null : Math.max(...steps);
}

/** The calls of a node, with the credential that the worker keeps. */
function asNode(name: string) {
  const { credential } = JSON.parse(readFileSync(join(stage.dir, "nodes", name, "state/node.json"), "utf8")) as {
    credential: string;
  };
  const headers = { authorization: `Bearer ${credential}` };
  return createTRPCClient<HubRouter>({ links: [httpLink({ url: `${stage.hub.url}/api/trpc`, headers })] }).node;
}

/** Returns whether a process has the job's folder in its command line. */
const runsStill = (job: string): boolean => listProcesses().some(({ pid }) => commandOf(pid).includes(job));

test("two workers take a job each; the job of a killed machine goes on at the other from the safe step", async () => {
  const queue = "killed";
  writeFileSync(flag("first"), "");
  writeFileSync(flag("second"), "");
  const [first = "", second = ""] = await submit(
    training("first", { steps: 3, hold: true, queue }),
    training("second", { steps: 3, hold: true, queue }),
  );
  const workers = { one: await startWorker("one", queue), two: await startWorker("two", queue) };
  const running = await waitFor("the second runs", second, ({ state }) => state === "running");
  const before = await waitFor("the first runs", first, ({ state }) => state === "running");
  expect(running.node?.name).not.toBe(before.node?.name);
  await waitUntil(
    "the first step of each is safe",
    async () => (await newestSafe("first")) === 10 && (await newestSafe("second")) === 10,
  );
  const killed = before.node?.name === "one" ? "one" : "two";
  const other = killed === "one" ? "two" : "one";
  await workers[killed].stop("SIGKILL");
  // The job of the other worker ends first, so that this one can take the lost job.
  for (const name of ["first", "second"]) rmSync(flag(name));
  rmSync(join(workFolder(other), second, "ckpt/hold"));
  await waitFor("the other job is done", second, ({ state }) => state === "done");
  const done = await waitFor("the lost job is done", first, ({ state }) => state === "done");
  expect(done).toMatchObject({ failures: 0, attempts: 2 });
  const [again, lost] = done.attemptRows;
  expect(lost).toMatchObject({ attempt: 1, outcome: "interrupted", node: { name: killed } });
  expect(again).toMatchObject({ outcome: "completed", exitCode: 0, fromStep: 10, safeStep: 40, node: { name: other } });
  expect(said(workers[other])).toContain("first goes on from step 10.");
  expect(await newestSafe("first")).toBe(40);
  // The killed node reports late: its lease is over.
  const report = { fromStep: null, toStep: 20, safeStep: 20, exit: { kind: "exited" as const, code: 1 } };
  const late = { jobId: first, attempt: 1, epoch: lost?.epoch ?? 0, ...report };
  expect(await asNode(killed).endJob.mutate(late)).toEqual({ accepted: false });
  expect(await look(first)).toEqual(done);
  await workers[other].stop();
});

test("a program that fails is tried again, and fails for good after as many failures as its policy allows", async () => {
  const queue = "fails";
  const policy = { mostFailures: 2, exitCodes: { retry: [], fail: [], banMachine: [] } };
  const [job = "", next = ""] = await submit(
    { queue, name: "fails", command: "sh", arguments: ["-c", "exit 7"], policy },
    { queue, name: "no such program", command: "no-such-program-anywhere", policy: { ...policy, mostFailures: 1 } },
  );
  const worker = await startWorker("failing", queue);
  const failed = await waitFor("it fails for good", job, ({ state }) => state === "failed");
  expect(failed).toMatchObject({ failures: 2, attempts: 2 });
  expect(failed.attemptRows.map(({ outcome, exitCode }) => [outcome, exitCode])).toEqual([
    ["failed", 7],
    ["failed", 7],
  ]);
  const refused = await waitFor("the other is refused", next, ({ state }) => state === "failed");
  expect(refused.reason).toContain("no-such-program-anywhere: The program was not found");
  expect(existsSync(join(workFolder("failing"), job))).toBe(false);
  expect(await worker.stop()).toMatchObject({ code: 143 });
});

test("a canceled job's program is stopped, the job stays canceled, and its worker takes the next one", async () => {
  const queue = "canceled";
  writeFileSync(flag("canceled"), "");
  const [job = ""] = await submit(training("canceled", { steps: 100, hold: true, queue }));
  const worker = await startWorker("canceling", queue);
  await waitUntil("it trains", async () => (await newestSafe("canceled")) === 10);
  expect(runsStill(job)).toBe(true);
  const answer = await stage.client.jobs.cancel.mutate({ which: { ids: [job] } });
  expect(answer).toMatchObject({ found: 1, changed: 1, running: 1 });
  const [next = ""] = await submit({
    queue,
    name: "next",
    command: "sh",
    // The folder of a job has the job's id as its name.
    arguments: ["-c", 'test -n "$TIDEMARK_JOB_ID" && test "$(basename "$PWD")" = "$TIDEMARK_JOB_ID"'],
  });
  await waitFor("the next one is done", next, ({ state }) => state === "done");
  expect(runsStill(job)).toBe(false);
  expect(said(worker)).toContain("The hub ended this attempt");
  const after = await look(job);
  expect(after).toMatchObject({ state: "canceled", failures: 0, attempts: 1 });
  const { epoch = 0 } = after.attemptRows[0] ?? {};
  const report = { fromStep: null, toStep: 100, safeStep: 100, exit: { kind: "exited" as const, code: 0 } };
  const late = { jobId: job, attempt: 1, epoch: epoch ?? 0, ...report };
  expect(await asNode("canceling").endJob.mutate(late)).toEqual({ accepted: false });
  expect(await look(job)).toEqual(after);
  await worker.stop();
});

test("a worker that is asked to stop makes the last checkpoint safe and gives its job back at once", async () => {
  const queue = "given";
  writeFileSync(flag("given"), "");
  const [job = ""] = await submit(training("given", { steps: 1, hold: true, queue }));
  const worker = await startWorker("giving", queue, "--grace", "30s");
  await waitUntil("the first step is saved", () => said(worker).includes("saved 10"));
  await worker.stop("SIGTERM");
  const given = await look(job);
  expect(given).toMatchObject({ state: "waiting", failures: 0 });
  expect(given.attemptRows[0]).toMatchObject({ outcome: "interrupted", safeStep: 11, toStep: 11 });
  rmSync(flag("given"));
  const other = await startWorker("taking", queue);
  const done = await waitFor("it is done elsewhere", job, ({ state }) => state === "done");
  expect(done.attemptRows[0]).toMatchObject({ fromStep: 11, safeStep: 21, node: { name: "taking" } });
  await other.stop();
});

test("a hub that is away stops no program, and hears of an end from the next start of a killed worker", async () => {
  const queue = "away";
  const until = join(stage.dir, "until");
  const count = join(stage.dir, "count");
  const script = `echo once >> '${count}'; while ! test -e '${until}'; do sleep 0.1; done`;
  const [job = ""] = await submit({ queue, name: "away", command: "sh", arguments: ["-c", script] });
  const worker = await startWorker("cut-off", queue);
  await waitUntil("it runs", () => existsSync(count));
  await stage.killHub();
  await waitUntil("the worker has noticed", () => said(worker).includes("The hub cannot be reached"));
  writeFileSync(until, "");
  await waitUntil("it has ended", () => said(worker).includes("The program ended with 0"));
  const kept = join(stage.dir, "nodes/cut-off/state/job-end.json");
  await waitUntil("the end is on disk", () => existsSync(kept));
  await worker.stop("SIGKILL");
  await stage.startHubAgain();
  const again = await startWorker("cut-off", queue);
  const done = await waitFor("the hub knows", job, ({ state }) => state === "done");
  expect(done).toMatchObject({ attempts: 1, failures: 0 });
  expect(readFileSync(count, "utf8")).toBe("once\n");
  // The hub has the end a moment before the worker has its answer.
  await waitUntil("the end is forgotten", () => !existsSync(kept));
  await again.stop();
});

test("an evaluation runs after its training on another queue's node, and what follows a failed job fails with it", async () => {
  const bad = { name: "bad", queue: "train", command: "false", policy: { mostFailures: 1 } };
  const after = (name: string, ...before: string[]) => ({ name, queue: "evaluate", command: "true", after: before });
  const train = training("before", { steps: 2, queue: "train" });
  const ids = await submit(train, bad, after("evaluation", "before"), after("never", "bad"), after("last", "never"));
  const [first = "", , evaluation = "", never = "", last = ""] = ids;
  expect(await look(evaluation)).toMatchObject({ state: "waiting", reason: "it waits until the job before is done" });
  const other = await startWorker("evaluator", "evaluate");
  const trainer = await startWorker("trainer", "train");
  const done = await waitFor("it was evaluated", evaluation, ({ state }) => state === "done");
  expect(done.startedAt).toBeGreaterThanOrEqual((await look(first)).endedAt ?? Infinity);
  expect(done.after).toEqual([{ id: first, name: "before", state: "done" }]);
  await waitFor("the follower failed", never, ({ state }) => state === "failed");
  expect(await look(never)).toMatchObject({ attempts: 0, reason: "the job bad, which it follows, failed" });
  expect(await look(last)).toMatchObject({ attempts: 0, reason: "the job never, which it follows, failed" });
  await Promise.all([other.stop(), trainer.stop()]);
});

test("people submit, list, show and cancel jobs on the command line with an API token", async () => {
  const { token } = await stage.client.apiTokens.create.mutate({ name: "command line", role: "operator" });
  const env = { TIDEMARK_HUB: stage.hub.url, TIDEMARK_API_TOKEN: token, HF_TOKEN: "hf_of-the-environment" };
  const jobs = async (...args: string[]) => {
    const { code, stdout, stderr } = await runOnce(testedWorker(), ["jobs", "--json", ...args], { env });
    const lines = stdout.split("\n").filter((line) => line !== "");
    return { code, stderr, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
  };
  const file = join(stage.dir, "job.yaml");
  writeFileSync(
    file,
    "- name: from a file\n  command: python\n  arguments: [train.py, --lr, '3e-4']\n  queue: people\n",
  );
  const made = await jobs("submit", file);
  expect(made).toMatchObject({ code: 0, lines: [{ type: "job-submitted", queue: "people", isNew: true }] });
  const id = String(made.lines[0]?.["id"]);
  const shown = await jobs("show", id);
  expect(shown.lines[0]).toMatchObject({ name: "from a file", spec: { arguments: ["train.py", "--lr", "3e-4"] } });
  const listed = await jobs("list", "--queue", "people", "--state", "waiting");
  expect(listed.lines).toMatchObject([
    { type: "job", id, state: "waiting" },
    { type: "jobs", shown: 1, hasMore: false },
  ]);
  const follower = await jobs("submit", "--after", id, "--queue", "people", "--", "true");
  const following = await jobs("show", String(follower.lines.at(-1)?.["id"]));
  expect(following.lines[0]).toMatchObject({ dueAt: null, after: [{ id, name: "from a file", state: "waiting" }] });
  await jobs("cancel", String(follower.lines.at(-1)?.["id"]));
  const sweep = ["submit", "--matrix", "lr=1e-4,3e-4", "--matrix", "seed=1..3", "--name", "sweep", "--queue", "sweep"];
  const words = ["--", "python", "{{lr}}", "{{seed}}"];
  expect((await jobs(...sweep, "--dry-run", ...words)).lines).toContainEqual({ type: "jobs-checked", jobs: 6 });
  const swept = (await jobs(...sweep, ...words)).lines;
  expect(swept).toHaveLength(6);
  const one = await jobs("show", String(swept[5]?.["id"]));
  expect(one.lines[0]).toMatchObject({
    name: "sweep-6",
    labels: { lr: "3e-4", seed: "3" },
    spec: { arguments: ["3e-4", "3"] },
    waits: "no node asks for jobs of the queue sweep now",
  });
  const sealed = await jobs("submit", "--secret", "HF_TOKEN", "--queue", "sealed", "--", "true");
  const withSecret = await jobs("show", String(sealed.lines.at(-1)?.["id"]));
  expect(withSecret.lines[0]).toMatchObject({ spec: { secrets: ["HF_TOKEN"] } });
  expect(JSON.stringify([sealed, withSecret])).not.toContain("hf_of-the-environment");
  expect((await jobs("cancel", "--queue", "people", "--dry-run")).lines[0]).toMatchObject({ changed: 1, dryRun: true });
  expect((await jobs("cancel", id)).lines[0]).toMatchObject({ type: "jobs-changed", found: 1, changed: 1 });
  expect(await look(id)).toMatchObject({ state: "canceled" });
  const cap = await jobs("cap", "people", "--most-running", "8");
  expect(cap.lines[0]).toMatchObject({ type: "queue-changed", mostRunning: 8, mostPerOwner: null });
  await jobs("cap", "people", "--most-per-owner", "2");
  await jobs("pause", "people");
  expect((await jobs("queues")).lines).toContainEqual(
    expect.objectContaining({
      queue: "people",
      mostRunning: 8,
      mostPerOwner: 2,
      pausedBy: expect.any(String) as string,
    }),
  );
  await jobs("resume", "people");
  const queues = (await jobs("queues")).lines;
  expect(queues).toContainEqual(expect.objectContaining({ type: "queue", queue: "people", pausedAt: null }));
});

test("a program in Python submits a sweep, and the same one again is no other", async () => {
  const { token } = await stage.client.apiTokens.create.mutate({ name: "python", role: "operator" });
  const script = `import json, tidemark
jobs = tidemark.submit(["echo", "{{n}}"], queue="python", name="py", matrix={"n": {"from": 1, "to": 2}}, idempotency_key="once")
print(json.dumps(jobs))
try:
    tidemark.submit(["true"], queue="no queue!")
except tidemark.TidemarkError as error:
    print(error.code)`;
  const run = () => {
    const env = { ...process.env, TIDEMARK_HUB: stage.hub.url, TIDEMARK_API_TOKEN: token };
    const python = process.env["PYTHON"] ?? "python3";
    const ran = spawnSync(python, ["-B", "-c", script], { cwd: join(ROOT, "clients/python"), env, encoding: "utf8" });
    expect(ran.stderr).toBe("");
    const [jobs = "", code = ""] = ran.stdout.split("\n");
    return { jobs: JSON.parse(jobs) as { id: string; isNew: boolean }[], code };
  };
  const first = run();
  expect(first).toMatchObject({ jobs: [{ isNew: true }, { isNew: true }], code: "BAD_INPUT" });
  const again = run();
  expect(again.jobs.map(({ id, isNew }) => [id, isNew])).toEqual(first.jobs.map(({ id }) => [id, false]));
  expect((await stage.client.jobs.list.query({ queue: "python", limit: 10 })).rows).toHaveLength(2);
});

test("a schedule submits its job at its time, also after the hub was killed, and none once it is removed", async () => {
  const { token } = await stage.client.apiTokens.create.mutate({ name: "schedules", role: "operator" });
  const env = { TIDEMARK_HUB: stage.hub.url, TIDEMARK_API_TOKEN: token, HF_TOKEN: "hf_planted" };
  const jobs = (...args: string[]) => runOnce(testedWorker(), ["jobs", "--json", ...args], { env });
  const at = ["--cron", "* * * * *", "--time-zone", "Europe/Berlin"];
  const made = await jobs("schedule", "minutely", ...at, "--queue", "scheduled", "--secret", "HF_TOKEN", "--", "true");
  const said = made.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  expect(said).toMatchObject([{ type: "note" }, { type: "schedule-set", name: "minutely", isNew: true }]);
  await stage.killHub();
  await stage.startHubAgain();
  const list = async () => (await stage.client.jobs.list.query({ queue: "scheduled", limit: 10 })).rows;
  const [first] = await waitUntil("its time has come", async () => ((await list()).length > 0 ? list() : null));
  expect(first).toMatchObject({ labels: { schedule: "minutely" }, state: "waiting" });
  expect((await stage.client.jobs.get.query({ id: first?.id ?? "" })).spec?.secrets).toEqual(["HF_TOKEN"]);
  const shown = JSON.parse((await jobs("schedules")).stdout) as Record<string, unknown>;
  expect(shown).toMatchObject({
    type: "schedule",
    timeZone: "Europe/Berlin",
    secrets: ["HF_TOKEN"],
    lastJob: { id: first?.id },
  });
  await jobs("unschedule", "minutely");
  expect(await stage.client.jobs.schedules.query()).toEqual([]);
});
