import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { filePath } from "#protocol/base/names.ts";
import { placeWords } from "#protocol/checkpoint/step-words.ts";
import { createBucket, PREFIX, RUN, storeCheckpoint, storeRecord } from "../testing/memory-bucket.ts";
import { choosingFrom } from "./choose-checkpoint.ts";
import { listSteps } from "./list-steps.ts";
import { createRunRecords } from "./run-record.ts";

async function listed(bucket: ReturnType<typeof createBucket>, damaged: string[] = [], most = 100) {
  const records = createRunRecords(bucket.calls, PREFIX);
  return listSteps(choosingFrom(records, await records.read(RUN), new Set(damaged)), { most, width: 4 });
}

test("each checkpoint says what it is to the run, and why nothing goes on from it", async () => {
  const bucket = createBucket();
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  const second = storeCheckpoint(bucket, { epoch: 1, step: 20 });
  storeCheckpoint(bucket, { epoch: 1, step: 30 });
  const damaged = storeCheckpoint(bucket, { epoch: 1, step: 40 });
  storeCheckpoint(bucket, { epoch: 1, step: 50, doubt: "model-00001-of-00002.safetensors is missing" });
  storeCheckpoint(bucket, { epoch: 1, step: 60, role: "final-model" });
  storeCheckpoint(bucket, { epoch: 1, step: 70 });
  for (const [key, object] of bucket.objects)
    if (key.includes("/s000000000070-")) bucket.objects.set(key, { ...object, text: "{" });
  storeRecord(bucket, { checkpointId: second, word: { kind: "trash", until: 2_000_000, why: "by a person" } });
  const { steps, older } = await listed(bucket, [damaged]);
  expect(older).toBe(0);
  expect(steps.map(({ step, state }) => [step, state])).toEqual([
    [70, "unreadable"],
    [60, "final"],
    [50, "doubtful"],
    [40, "damaged"],
    [30, "newest"],
    [10, "complete"],
    [20, "trashed"],
  ]);
  expect(steps[2]?.why).toBe("model-00001-of-00002.safetensors is missing");
  expect(steps[4]).toMatchObject({ why: null, epoch: 1, node: "one", committedAt: 1_000_000 });
  expect(steps[6]?.why).toContain("1970-01-01T00:33:20");
});

test("only so many are read, and the others are counted", async () => {
  const bucket = createBucket();
  for (const step of [10, 20, 30]) storeCheckpoint(bucket, { epoch: 1, step });
  const { steps, older } = await listed(bucket, [], 2);
  expect([steps.map(({ step }) => step), older]).toEqual([[30, 20], 1]);
});

test("an archived manifest is told for its own checkpoint, and the others are listed", async () => {
  const bucket = createBucket();
  for (const step of [10, 20]) storeCheckpoint(bucket, { epoch: 1, step });
  const { read } = bucket.calls;
  bucket.calls.read = async (key) => {
    if (key.includes("/s000000000020-")) throw new Fault("OBJECT_ARCHIVED", { op: "GetObject", subject: key });
    return read(key);
  };
  const { steps } = await listed(bucket);
  expect(steps.map(({ step, state, why }) => [step, state, why])).toEqual([
    [20, "unreadable", "its manifest is archived: restore it first where it is stored"],
    [10, "complete", null],
  ]);
});

test("each says its place and where its step comes from; a checkpoint of an older worker has the place that a restore gives it", async () => {
  const bucket = createBucket();
  const path = filePath.parse("lightning_logs/version_1/checkpoints/last.ckpt");
  const place = { path, kind: "file", stepSource: "inside", root: { index: 1, name: "logs" } } as const;
  storeCheckpoint(bucket, { epoch: 1, step: 20, place: { ...place, siblings: ["a.ckpt"] } });
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  const { steps } = await listed(bucket);
  expect(steps.map((one) => one.place)).toEqual([place, { path: "checkpoint-10", kind: "folder" }]);
  expect(placeWords(place)).toBe("the file lightning_logs/version_1/checkpoints/last.ckpt in logs");
});
