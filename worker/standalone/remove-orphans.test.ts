import { beforeEach, expect, test } from "vitest";
import { nodeName } from "#protocol/base/names.ts";
import { epochClaimKey } from "#protocol/checkpoint/keys.ts";
import type { EpochClaim } from "#protocol/checkpoint/checkpoint.ts";
import { OLD_ENOUGH_MS } from "#storage/manifest/classify-orphan.ts";
import { createBucket, PREFIX, RUN, storeCheckpoint } from "../testing/memory-bucket.ts";
import { removeOrphans } from "./remove-orphans.ts";
import { createRunRecords } from "./run-record.ts";

let bucket: ReturnType<typeof createBucket>;
beforeEach(() => {
  bucket = createBucket();
});

function claim(epoch: number, more: Partial<EpochClaim> = {}): void {
  const node = { id: "node-0001", name: nodeName.parse("one") };
  const claimedAt = bucket.clock.now;
  const body = { format: "tidemark.epoch", version: 1, run: RUN, epoch, parent: null, node, claimedAt, ...more };
  const key = epochClaimKey(PREFIX, { run: RUN, epoch });
  bucket.objects.set(key, { text: JSON.stringify(body), etag: '"c"', modifiedAtMs: claimedAt });
}
function leave(epoch: number, attempt: string): string {
  const key = `${PREFIX}runs/${RUN}/e${String(epoch).padStart(6, "0")}/${attempt}/weights`;
  bucket.objects.set(key, { text: "left", etag: '"l"', modifiedAtMs: bucket.clock.now });
  return key;
}
const clear = (assertWriter = () => Promise.resolve()) =>
  removeOrphans(
    { calls: bucket.calls, records: createRunRecords(bucket.calls, PREFIX), prefix: PREFIX, assertWriter },
    RUN,
  );
const keys = () => [...bucket.objects.keys()].filter((key) => key.startsWith(`${PREFIX}runs/`)).toSorted();

test("objects of earlier epochs that no manifest names are deleted a day after the epoch ended", async () => {
  claim(1);
  storeCheckpoint(bucket, { epoch: 1, step: 10 });
  const [whole = ""] = keys();
  const left = leave(1, "attemptleft01");
  bucket.clock.now += 1_000;
  claim(2);
  const living = leave(2, "attemptleft02");
  bucket.clock.now += OLD_ENOUGH_MS;
  expect(await clear()).toEqual({ count: 0, bytes: 0 });
  expect(keys()).toEqual([whole, left, living].toSorted());
  bucket.clock.now += 1;
  expect(await clear()).toEqual({ count: 1, bytes: 4 });
  expect(keys()).toEqual([whole, living].toSorted());
});

test("nothing is deleted of a run that nodes wrote together, nor by a node that lost the run", async () => {
  claim(1);
  leave(1, "attemptleft01");
  bucket.clock.now += 1_000;
  claim(2);
  bucket.clock.now += OLD_ENOUGH_MS + 1;
  await expect(clear(() => Promise.reject(new Error("another node writes it")))).rejects.toThrow("another node");
  expect(keys()).toHaveLength(1);
  claim(2, { groupOf: 2, claimedAt: 1_001_000 });
  expect(await clear()).toEqual({ count: 0, bytes: 0 });
  expect(keys()).toHaveLength(1);
});
