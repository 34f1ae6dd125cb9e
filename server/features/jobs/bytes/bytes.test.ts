import { expect, it } from "vitest";
import { putObjectText } from "#storage/s3/objects.ts";
import type { JobPlacePart } from "#protocol/jobs/job-bytes.ts";
import type { TakenJob } from "#protocol/jobs/node-jobs.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { fault } from "#server/testing/match-fault.ts";
import {
  ask,
  first,
  jobsForEach,
  nodeOf,
  people,
  profileId,
  read,
  second,
  submit,
  take,
  test,
} from "#server/testing/jobs-for-each.ts";

/** A node reads what the inputs of its job name and writes below its outputs, while it has the lease, and nothing else. */

jobsForEach();

const movesBytes = true as const;
const input: JobPlacePart = { kind: "input", index: 0 };
const output: JobPlacePart = { kind: "output", index: 0 };
const get = (key: string): Operation => ({ op: "get", key, offset: 0, length: 1, etag: null });
const put = (key: string): Operation => ({ op: "put", key, sizeBytes: 1, crc32: "00000000", nonce: "n" });

const at = ({ id: jobId, attempt, epoch }: TakenJob) => ({ jobId, attempt, epoch });
const sign = (job: TakenJob, part: JobPlacePart, ...operations: Operation[]) =>
  nodeOf(first).signForJob({ ...at(job), part, operations });
const refused = fault("NOT_THIS_NODES");

async function store(...keys: string[]): Promise<void> {
  const { client, access } = await test.hub.stores.open(profileId);
  for (const key of keys) await putObjectText(client, { bucket: access.bucket, key, text: key });
}

it("tells a node the objects of an input page by page, without those that only begin alike and those of Tidemark", async () => {
  await store("data/a", "data/deep/b", "database", "team/runs/llama/e000001/x/model", "team/readme");
  await submit({ inputs: [{ prefix: "data" }, { prefix: "" }, { prefix: "data/a" }] });
  const job = await take(first, { movesBytes });
  const keysOf = async (index: number) => {
    const { objects } = await nodeOf(first).readJobPlace({ ...at(job), part: { kind: "input", index } });
    return objects.map(({ key }) => key);
  };
  expect(await keysOf(0)).toEqual(["data/a", "data/deep/b"]);
  expect(await keysOf(1)).toEqual(["data/a", "data/deep/b", "database", "team/readme"]);
  expect(await keysOf(2)).toEqual(["data/a"]);
  const { objects, store: told } = await nodeOf(first).readJobPlace({ ...at(job), part: input });
  expect(objects[0]).toMatchObject({ sizeBytes: 6, etag: expect.stringMatching(/^".*"$/) as string });
  expect(JSON.stringify(told)).not.toContain("secret");
});

it("signs reads of an input and writes below an output, and refuses every other key and operation", async () => {
  await submit({ inputs: [{ prefix: "data" }, { prefix: "" }], outputs: [{ prefix: "results/1", folder: "out" }] });
  const job = await take(first, { movesBytes });
  const key = "results/1/a.json";
  expect((await sign(job, input, get("data/a"), { op: "head", key: "data/a" })).requests).toHaveLength(2);
  const uploadId = "upload";
  const writes: Operation[] = [
    put(key),
    { op: "create", key, nonce: "n" },
    { op: "part", key, uploadId, partNumber: 1, sizeBytes: 5, crc32: "00000000" },
    { op: "parts", key, uploadId, after: 0 },
    { op: "complete", key, uploadId },
    { op: "abort", key, uploadId },
    { op: "head", key },
  ];
  expect((await sign(job, output, ...writes)).requests).toHaveLength(writes.length);
  const others: [JobPlacePart, Operation][] = [
    [input, get("database")],
    [input, get("other/a")],
    [input, put("data/a")],
    [input, { op: "delete", key: "data/a" }],
    [{ kind: "input", index: 1 }, get("team/runs/llama/e000001/x/model")],
    [{ kind: "input", index: 2 }, get("data/a")],
    [output, get(key)],
    [output, { op: "delete", key }],
    [output, put("results/1")],
    [output, put("results/10/a")],
    [output, put("results/1/../2/a")],
    [output, put("data/a")],
  ];
  for (const [part, operation] of others) await expect(sign(job, part, operation)).rejects.toEqual(refused);
});

it("an output never overwrites what Tidemark keeps, also in the node's own bucket, which is not known before", async () => {
  await submit({ outputs: [{ prefix: "team", folder: "out" }] });
  const job = await take(first, { movesBytes });
  for (const key of ["team/runs/llama/e000001/x/model", "team/manifests/llama/x.json", "team/_tidemark/findings/x"])
    await expect(sign(job, output, put(key))).rejects.toEqual(refused);
  expect((await sign(job, output, put("team/results.json"))).requests).toHaveLength(1);
});

it("signs nothing for another node, under another epoch, and once the attempt is over", async () => {
  await submit({ inputs: [{ prefix: "data" }] });
  const job = await take(first, { movesBytes });
  const asked = { ...at(job), part: input, operations: [get("data/a")] };
  await expect(nodeOf(second).signForJob(asked)).rejects.toEqual(refused);
  await expect(nodeOf(first).signForJob({ ...asked, epoch: job.epoch + 1 })).rejects.toEqual(refused);
  await expect(nodeOf(second).readJobPlace({ ...at(job), part: input })).rejects.toEqual(refused);
  await people().cancel({ which: { ids: [job.id] } });
  await expect(nodeOf(first).signForJob(asked)).rejects.toEqual(refused);
});

it("refuses a submission whose bucket does not exist, holds checkpoints there, or has to be encrypted", async () => {
  const { name } = await test.hub.db.profile.findUniqueOrThrow({ where: { id: profileId } });
  const refuse = (words: string) =>
    expect.objectContaining({ message: expect.stringContaining(words) as string }) as unknown;
  await expect(submit({ inputs: [{ profile: "nowhere", prefix: "a" }] })).rejects.toEqual(refuse("nowhere"));
  await expect(submit({ inputs: [{ profile: name, prefix: "team/runs/llama" }] })).rejects.toEqual(
    refuse("keeps checkpoints"),
  );
  await expect(submit({ outputs: [{ profile: name, prefix: "team/runs", folder: "out" }] })).rejects.toEqual(
    refuse("keeps checkpoints"),
  );
  const outputs = [{ profile: name, prefix: "results", folder: "out" }];
  const [id = ""] = await submit({ outputs });
  expect((await read(id)).spec?.outputs).toEqual([{ ...outputs[0], profileId }]);
  await test.hub.db.profile.update({ where: { id: profileId }, data: { sealing: "content" } });
  await expect(submit({ outputs })).rejects.toEqual(refuse("encryption"));
});

it("gives such a job to no older worker, says so, and gives it to the next one that can move bytes", async () => {
  const [id = ""] = await submit({ inputs: [{ prefix: "data" }] });
  expect((await ask(first)).job).toBeNull();
  expect((await read(id)).waits).toContain("a worker that fetches inputs and saves outputs");
  expect((await ask(second, { movesBytes })).job).toMatchObject({ id });
});

it("two submissions with one key and the same places are one job", async () => {
  const job = { idempotencyKey: "k", inputs: [{ prefix: "data" }], outputs: [{ prefix: "r", files: ["a"] }] };
  const [one] = await submit(job);
  expect(await submit(job)).toEqual([one]);
  await expect(submit({ ...job, inputs: [{ prefix: "other" }] })).rejects.toEqual(fault("CONFLICT"));
});

it("lets a node read the inputs of the job that it would be handed next, and nothing else of it", async () => {
  await store("data/a");
  const [running = "", waiting = ""] = await submit(
    {},
    { inputs: [{ prefix: "data" }], outputs: [{ prefix: "out", folder: "out" }] },
  );
  expect((await take(first, { movesBytes })).id).toBe(running);
  const ahead = { jobId: waiting, attempt: null, epoch: null };
  const readAhead = () => nodeOf(first).readJobPlace({ ...ahead, part: input });
  const signAhead = (part: JobPlacePart, operation: Operation) =>
    nodeOf(first).signForJob({ ...ahead, part, operations: [operation] });
  await expect(readAhead()).rejects.toEqual(refused);
  const { job } = await nodeOf(first).nextJob({ queue: "default" });
  expect(job).toMatchObject({ id: waiting, inputs: [{ prefix: "data" }] });
  expect(job).not.toHaveProperty("secrets");
  expect((await readAhead()).objects.map(({ key }) => key)).toEqual(["data/a"]);
  expect((await signAhead(input, get("data/a"))).requests).toHaveLength(1);
  for (const [part, operation] of [
    [input, get("database")],
    [input, put("data/a")],
    [output, put("out/a")],
  ] as const)
    await expect(signAhead(part, operation)).rejects.toEqual(refused);
  const log = { ...ahead, part: { kind: "log" as const }, operations: [put("log")] };
  await expect(nodeOf(first).signForJob(log)).rejects.toEqual(refused);
  await expect(nodeOf(second).readJobPlace({ ...ahead, part: input })).rejects.toEqual(refused);
  // It waits still, for any node, and then is no longer the one that this node would be handed.
  expect((await take(second, { movesBytes })).id).toBe(waiting);
  await expect(readAhead()).rejects.toEqual(refused);
  expect(await nodeOf(first).nextJob({ queue: "default" })).toEqual({ job: null });
});

it("tells a node of no job of a paused queue, nor of one whose needs it does not meet, nor of one without inputs", async () => {
  const next = async (changes = {}) => (await nodeOf(first).nextJob({ queue: "default", ...changes })).job?.id ?? null;
  const [id = ""] = await submit({ inputs: [{ prefix: "data" }], needs: { gpuMemoryBytes: 24e9 } });
  expect(await next()).toBeNull();
  expect(await next({ gpuMemoryBytes: 24e9 })).toBe(id);
  await people().pauseQueue({ queue: "default" });
  expect(await next({ gpuMemoryBytes: 24e9 })).toBeNull();
  await people().resumeQueue({ queue: "default" });
  await submit({ priority: 1 });
  expect(await next({ gpuMemoryBytes: 24e9 })).toBeNull();
});
