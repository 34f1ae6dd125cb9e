import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { closeAlone, folderOf, openAlone, startAlone, type Alone } from "../stage/open-alone.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { runOnce } from "../stage/run-once.ts";
import type { RunningStore } from "../stage/start-store.ts";
import { testedWorker } from "../stage/start-worker.ts";
import { waitUntil } from "../stage/wait-until.ts";

/**
 * The first step of a program that writes two files a step, one after the other: its bytes are in the bucket at once, and no half
 * of it is ever called safe.
 */
let stage: Stage;
let alone: Alone;
beforeAll(async () => {
  [stage, alone] = await Promise.all([openStage(), openAlone()]);
});
afterAll(() => Promise.all([stage.close(), closeAlone(alone)]));

const BYTES = 300_000;
const write = (folder: string, ...names: string[]) => {
  for (const name of names) writeFileSync(join(folder, name), Buffer.alloc(BYTES, name));
};

/** Returns how many objects with data a run has in its bucket. */
async function dataOf(store: RunningStore, at: string): Promise<number> {
  const access = { ...store, region: "us-east-1", addressing: "path", traits: traitsOf("minio") } as const;
  const client = createControlClient({
    access,
    credential: { accessKeyId: store.accessKey, secretAccessKey: store.secretKey },
  });
  try {
    let objects = 0;
    for await (const { key } of listObjects(client, { bucket: store.bucket, prefix: at })) if (key !== "") objects++;
    return objects;
  } finally {
    client.destroy();
  }
}

const kept = async (run: string) => {
  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(run) });
  return checkpoints
    .filter(({ state }) => state === "complete")
    .map(({ step, sizeBytes, doubt }) => [step, sizeBytes / BYTES, doubt === null ? "safe" : "doubtful"])
    .toSorted(([a], [b]) => Number(a) - Number(b));
};

test("with a hub, its bytes are there at once, and it is safe when both of its files are", async () => {
  const folder = stage.folderOf("two");
  await stage.startNode({ name: "two", run: "two", flags: ["--settle", "200ms"] });
  write(folder, "model_step_10.pt");
  await waitUntil("its bytes are in the bucket", async () => (await dataOf(stage.store, "runs/two/")) > 0);
  // The commit of a capture follows its bytes in milliseconds; a later step of the test shows that the node went on.
  write(folder, "optim_step_10.pt");
  await waitUntil("both are in the bucket", async () => (await dataOf(stage.store, "runs/two/")) > 1);
  expect(await kept("two")).toEqual([]);
  write(folder, "model_step_20.pt", "optim_step_20.pt");
  await waitUntil("both steps are safe", async () => (await kept("two")).length === 2);
  expect(await kept("two")).toEqual([
    [10, 2, "safe"],
    [20, 2, "safe"],
  ]);
});

test("with a hub, half a step is doubtful when the node has to go, and nothing goes on from it", async () => {
  const node = await stage.startNode({ name: "half", run: "half", flags: ["--settle", "200ms"] });
  write(stage.folderOf("half"), "model_step_10.pt");
  await waitUntil("its bytes are in the bucket", async () => (await dataOf(stage.store, "runs/half/")) > 0);
  await node.stop();
  expect(await kept("half")).toEqual([[10, 1, "doubtful"]]);
  const program = [process.execPath, "-e", `console.log("from [" + process.env.TIDEMARK_RESUME_STEP + "]")`];
  const next = await stage.startNode({ name: "half-2", run: "half", program });
  expect((await next.exited).code).toBe(0);
  expect(next.lines.join("\n")).toContain("from []");
});

/** Returns the checkpoints of a run in a bucket without a hub. */
async function steps(run: string): Promise<(readonly [unknown, unknown, unknown])[]> {
  const args = ["runs", run, "--to", `s3://${alone.store.bucket}/${run}`, "--json"];
  const env = { ...keysInEnv(alone.store), TIDEMARK_STATE: join(alone.dir, "state") };
  const { stdout } = await runOnce(testedWorker(), args, { env });
  const last = stdout.trim().split("\n").at(-1) ?? "";
  const { steps: found = [] } = JSON.parse(last === "" ? "{}" : last) as { steps?: Record<string, unknown>[] };
  return found.map((one) => [one["step"], one["state"], Number(one["sizeBytes"]) / BYTES] as const);
}

test("without a hub, a step is complete when both of its files are in the bucket", async () => {
  const folder = folderOf(alone, "pair");
  await startAlone(alone, { name: "pair", run: "pair", prefix: "pair" });
  write(folder, "model_step_10.pt");
  await waitUntil("its bytes are in the bucket", async () => (await dataOf(alone.store, "pair/runs/pair/")) > 0);
  write(folder, "optim_step_10.pt");
  await waitUntil("both are in the bucket", async () => (await dataOf(alone.store, "pair/runs/pair/")) > 1);
  expect(await steps("pair")).toEqual([]);
  write(folder, "model_step_20.pt", "optim_step_20.pt");
  await waitUntil("both steps are complete", async () => (await steps("pair")).length === 2);
  expect(await steps("pair")).toEqual([
    [20, "newest", 2],
    [10, "complete", 2],
  ]);
});

/** With this settle time the wait of a part is over after 3 s. */
const SHORT = ["--settle", "20ms"];

test("with a hub, a first step that was called safe and lacks what the second one has is doubtful afterwards", async () => {
  const folder = stage.folderOf("late");
  await stage.startNode({ name: "late", run: "late", flags: SHORT });
  write(folder, "model_step_10.pt");
  await waitUntil("the wait is over", async () => (await kept("late")).some(([, , state]) => state === "safe"));
  write(folder, "model_step_20.pt", "optim_step_20.pt");
  await waitUntil("both are known for what they are", async () => {
    const found = await kept("late");
    return found.length === 2 && found[0]?.[2] === "doubtful";
  });
  expect(await kept("late")).toEqual([
    [10, 1, "doubtful"],
    [20, 2, "safe"],
  ]);
});

test("without a hub, a first step that was complete and lacks what the second one has is doubtful afterwards", async () => {
  const folder = folderOf(alone, "behind");
  await startAlone(alone, { name: "behind", run: "behind", prefix: "behind" });
  write(folder, "ckpt_step_10.pt");
  await waitUntil("the wait is over", async () => (await steps("behind")).length === 1);
  expect((await steps("behind"))[0]?.[1]).toBe("newest");
  write(folder, "ckpt_step_20.pt", "optim_step_20.pt");
  await waitUntil("both are known for what they are", async () => (await steps("behind")).at(1)?.[1] === "doubtful");
  expect(await steps("behind")).toEqual([
    [20, "newest", 2],
    [10, "doubtful", 1],
  ]);
});

const bySize = (a: readonly unknown[], b: readonly unknown[]): number => Number(a[1]) - Number(b[1]);

/** Begins a file that stays open, so that it is not finished. Returns what finishes it. */
function begin(path: string): () => void {
  const file = openSync(path, "w");
  writeSync(file, "begun");
  return () => {
    writeSync(file, Buffer.alloc(BYTES - 5, "x"));
    closeSync(file);
  };
}

test("with a hub, a first step that was called safe is doubtful as soon as its late file appears, and safe when that is finished", async () => {
  const folder = stage.folderOf("begun");
  const node = await stage.startNode({ name: "begun", run: "begun", flags: SHORT });
  write(folder, "model_step_10.pt");
  await waitUntil("the wait is over", async () => (await kept("begun")).some(([, , state]) => state === "safe"));
  const finish = begin(join(folder, "optim_step_10.pt"));
  await waitUntil("it is doubtful", async () => (await kept("begun"))[0]?.[2] === "doubtful");
  expect(await kept("begun")).toEqual([[10, 1, "doubtful"]]);
  expect(node.lines.join("\n")).toContain(
    "begun step 10 is not whole after all: optim_step_10.pt was written after it was captured.",
  );
  finish();
  await waitUntil("the whole step is safe", async () => (await kept("begun")).some(([, files]) => files === 2));
  expect((await kept("begun")).toSorted(bySize)).toEqual([
    [10, 1, "doubtful"],
    [10, 2, "safe"],
  ]);
});

test("without a hub, a first step that was complete is doubtful as soon as its late file appears", async () => {
  const folder = folderOf(alone, "opened");
  await startAlone(alone, { name: "opened", run: "opened", prefix: "opened" });
  write(folder, "ckpt_step_10.pt");
  await waitUntil("the wait is over", async () => (await steps("opened")).length === 1);
  const finish = begin(join(folder, "optim_step_10.pt"));
  await waitUntil("it is doubtful", async () => (await steps("opened"))[0]?.[1] === "doubtful");
  finish();
  await waitUntil("the whole step is the newest", async () =>
    (await steps("opened")).some(([, state]) => state === "newest"),
  );
  expect((await steps("opened")).map(([step, , files]) => [step, files]).toSorted(bySize)).toEqual([
    [10, 1],
    [10, 2],
  ]);
});
