import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GetObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JobDraft } from "#protocol/jobs/job-spec.ts";
import { clientOf, putOdd } from "../stage/odd-objects.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { testedWorker } from "../stage/start-worker.ts";
import type { RunningProcess } from "../stage/start-process.ts";
import { waitUntil } from "../stage/wait-until.ts";

/** Inputs and outputs of jobs over a real hub and store: fetched once for two jobs, saved before a job is done, refused where hostile. */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const LARGE = Buffer.alloc(9 * 1024 * 1024, "large object ");
const workFolder = (node: string): string => join(stage.dir, "nodes", node, "jobs");
const startWorker = (name: string, queue: string): Promise<RunningProcess> =>
  stage.startNode({ name, queue, flags: ["--work-folder", workFolder(name)] });
async function submit(job: JobDraft): Promise<string> {
  return (await stage.client.jobs.submit.mutate({ jobs: [job] })).jobs[0]?.id ?? "";
}
const look = (id: string) => stage.client.jobs.get.query({ id });
const ended = (id: string) =>
  waitUntil("the job has ended", async () => {
    const job = await look(id);
    return job.endedAt === null ? null : job;
  });
async function readObject(key: string): Promise<string> {
  const client = clientOf(stage.store);
  const answer = await client.send(new GetObjectCommand({ Bucket: stage.store.bucket, Key: key }));
  return (await answer.Body?.transformToString()) ?? "";
}
const fetches = async (): Promise<number> => {
  const { targets } = await readCounters(stage.store, "GetObject");
  return targets.filter(({ key }) => key.startsWith("data/")).reduce((sum, { requests }) => sum + requests, 0);
};

test("a job finds its inputs, a second one is given them without another fetch, and its outputs are in the bucket when it is done", async () => {
  await putOdd(stage.store, "data/train.txt", { Body: "one line\n" });
  await putOdd(stage.store, "data/deep/large.bin", { Body: LARGE });
  await putOdd(stage.store, "database", { Body: "another one" });
  const profile = "stage bucket";
  const script = `test ! -e data/database && test "$(stat -L -c %s data/deep/large.bin)" = ${LARGE.length} &&
    mkdir -p out/deep && cat data/train.txt > out/copy.txt && cp -L data/deep/large.bin out/deep/ && echo '{}' > summary.json`;
  const job = (name: string): JobDraft => ({
    name,
    queue: "bytes",
    command: "sh",
    arguments: ["-c", script],
    inputs: [{ profile, prefix: "data", folder: "data" }],
    outputs: [
      { profile, prefix: `results/${name}`, folder: "out" },
      { prefix: `results/${name}/`, files: ["summary.json"] },
    ],
  });
  const file = join(stage.dir, "jobs.json");
  writeFileSync(file, JSON.stringify([job("first")]));
  const { token } = await stage.client.apiTokens.create.mutate({ name: "bytes", role: "operator" });
  const env = { TIDEMARK_HUB: stage.hub.url, TIDEMARK_API_TOKEN: token };
  const { stdout } = await runOnce(testedWorker(), ["jobs", "submit", "--json", file], { env });
  const { id: first } = JSON.parse(stdout) as { id: string };
  const worker = await startWorker("mover", "bytes");
  expect(await ended(first)).toMatchObject({ state: "done", attempts: 1 });
  expect(await readObject("results/first/copy.txt")).toBe("one line\n");
  expect(await readObject("results/first/deep/large.bin")).toBe(LARGE.toString());
  expect(await readObject("results/first/summary.json")).toBe("{}\n");
  const before = await fetches();
  expect(before).toBeGreaterThan(0);
  expect(worker.lines.join("\n")).toContain("Fetching 2 objects of its inputs");
  expect(await ended(await submit(job("second")))).toMatchObject({ state: "done" });
  expect(await readObject("results/second/copy.txt")).toBe("one line\n");
  expect(await fetches()).toBe(before);
  // Everything in the folders of the jobs is in a bucket, so they are gone; the objects stay for later jobs.
  await waitUntil("the folders are removed", () => readdirSync(workFolder("mover")).join() === ".inputs");
  await putOdd(stage.store, "data/train.txt", { Body: "another line\n" });
  expect(await ended(await submit(job("third")))).toMatchObject({ state: "done" });
  expect(await readObject("results/third/copy.txt")).toBe("another line\n");
  expect(await fetches()).toBe(before + 1);
  await worker.stop();
});

test("a job whose outputs cannot be saved is not done, and says why", async () => {
  const queue = "refused";
  const base = { queue, command: "sh", policy: { mostFailures: 1 } };
  const outputs = [{ prefix: "refused", folder: "out" }];
  const missing = await submit({ ...base, arguments: ["-c", "true"], outputs });
  const linked = await submit({ ...base, arguments: ["-c", "mkdir out; ln -s /etc/hostname out/name"], outputs });
  const nothing = await submit({ ...base, arguments: ["-c", "true"], inputs: [{ prefix: "nothing/here" }] });
  const worker = await startWorker("refuser", queue);
  expect((await ended(missing)).reason).toContain("the program left no out, which is an output of it");
  expect((await ended(linked)).reason).toContain("it is a link");
  expect((await ended(nothing)).reason).toContain("nothing lies below training/nothing/here");
  for (const id of [missing, linked, nothing]) expect(await look(id)).toMatchObject({ state: "failed", failures: 1 });
  expect(existsSync(join(workFolder("refuser"), linked))).toBe(true);
  await worker.stop();
});

test("a job is done only once the store has its outputs, and one whose worker is killed before is run again", async () => {
  const queue = "killed";
  await armFault(stage.store, {
    op: "PutObject",
    keyPattern: "slow/*",
    action: { kind: "error", status: 503, code: "SlowDown" },
  });
  const script = `echo once >> '${join(stage.dir, "runs")}'; mkdir -p out; echo result > out/a`;
  const id = await submit({
    queue,
    command: "sh",
    arguments: ["-c", script],
    outputs: [{ prefix: "slow", folder: "out" }],
  });
  const worker = await startWorker("slow", queue);
  await waitUntil("it saves", () => worker.lines.join("\n").includes("Saving 1 files of its outputs"));
  expect(await look(id)).toMatchObject({ state: "running" });
  await worker.stop("SIGKILL");
  await clearFaults(stage.store);
  const again = await startWorker("slow", queue);
  expect(await ended(id)).toMatchObject({ state: "done", attempts: 2, failures: 0 });
  expect(await readObject("slow/a")).toBe("result\n");
  await again.stop();
});

test("the inputs of the next job are fetched while the present one runs, and the next one fetches nothing", async () => {
  const queue = "ahead";
  await putOdd(stage.store, "data/ahead/large.bin", { Body: LARGE });
  await putOdd(stage.store, "data/ahead/small.txt", { Body: "small\n" });
  const flag = join(stage.dir, "hold-ahead");
  writeFileSync(flag, "");
  const script = `while test -e '${flag}'; do sleep 0.2; done`;
  const holding = await submit({ name: "holding", queue, command: "sh", arguments: ["-c", script] });
  const next = await submit({
    name: "next",
    queue,
    command: "sh",
    arguments: ["-c", `test "$(stat -L -c %s data/large.bin)" = ${LARGE.length} && test -e data/small.txt`],
    inputs: [{ profile: "stage bucket", prefix: "data/ahead", folder: "data" }],
  });
  const before = await fetches();
  const worker = await startWorker("ahead", queue);
  const objects = join(workFolder("ahead"), ".inputs/objects");
  await waitUntil("both objects are there", () => {
    const all = existsSync(objects) ? readdirSync(objects, { recursive: true, encoding: "utf8" }) : [];
    return all.filter((path) => /\/[0-9a-f]{64}$/.test(path)).length === 2;
  });
  expect(worker.lines.join("\n")).toContain("Fetching 2 objects, 9.0 MiB, of the inputs of the next job, next.");
  expect(await look(holding)).toMatchObject({ state: "running" });
  expect(await look(next)).toMatchObject({ state: "waiting", attempts: 0 });
  const fetched = await fetches();
  expect(fetched).toBeGreaterThan(before);
  rmSync(flag);
  expect(await ended(next)).toMatchObject({ state: "done", attempts: 1 });
  expect(await fetches()).toBe(fetched);
  expect(worker.lines.join("\n")).toContain("Fetching 0 objects of its inputs, 0 B; 2 are on this machine.");
  await worker.stop();
});
