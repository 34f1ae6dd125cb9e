import { expect, test } from "vitest";
import { createBucket, PREFIX, storeCheckpoint, storeClaim } from "../testing/memory-bucket.ts";
import { readRuns } from "./runs.ts";

/** Reads the runs of a bucket, and returns what is shown, the keys of the objects that were read, and the listings. */
async function readFrom(bucket: ReturnType<typeof createBucket>) {
  const asked: { read: string[]; listed: string[] } = { read: [], listed: [] };
  const shown = await readRuns(
    {
      ...bucket.calls,
      read: (key) => {
        asked.read.push(key.slice(PREFIX.length));
        return bucket.calls.read(key);
      },
      list: (prefix) => {
        asked.listed.push(prefix.slice(PREFIX.length));
        return bucket.calls.list(prefix);
      },
    },
    PREFIX,
  );
  return { shown, ...asked };
}

/** A run with many epochs, each of which started once and has one checkpoint. */
function fillEpochs(count: number): ReturnType<typeof createBucket> {
  const bucket = createBucket();
  for (let epoch = 1; epoch <= count; epoch++) {
    storeClaim(bucket, { epoch, parent: epoch === 1 ? null : { epoch: epoch - 1, step: (epoch - 1) * 10 } });
    storeCheckpoint(bucket, { epoch, step: epoch * 10 });
  }
  return bucket;
}

test("however many checkpoints and epochs a run has, its lease and its newest manifest are all that is read", async () => {
  const bucket = fillEpochs(300);
  const { shown, read, listed } = await readFrom(bucket);
  expect(shown).toMatchObject([{ run: "llama", newestStep: 3_000, checkpoints: 300 }]);
  expect(read).toEqual(["_tidemark/writers/llama.json", expect.stringMatching(/^manifests\/llama\/e000300\/s/)]);
  expect(listed.toSorted()).toEqual(["_tidemark/findings/", "epochs/", "keeping/", "manifests/"]);
});

test("a later epoch that a person began further back leaves the newest behind, also one that has no checkpoint yet", async () => {
  const bucket = fillEpochs(30);
  storeClaim(bucket, { epoch: 31, isChosen: true, parent: { epoch: 12, step: 120 } });
  expect((await readFrom(bucket)).shown).toMatchObject([{ newestStep: 120, checkpoints: 30 }]);
  // The epoch that was chosen last decides.
  storeClaim(bucket, { epoch: 32, isChosen: true, parent: { epoch: 29, step: 290 } });
  expect((await readFrom(bucket)).shown).toMatchObject([{ newestStep: 290 }]);
});

test("where nothing of the newest epoch can be gone on from, what an earlier one left behind is known", async () => {
  const bucket = createBucket();
  for (const step of [10, 20, 30]) storeCheckpoint(bucket, { epoch: 1, step });
  storeClaim(bucket, { epoch: 1 });
  storeClaim(bucket, { epoch: 2, isChosen: true, parent: { epoch: 1, step: 20 } });
  storeCheckpoint(bucket, { epoch: 2, step: 30, doubt: "model-00001-of-00002.safetensors is missing" });
  expect((await readFrom(bucket)).shown).toMatchObject([{ newestStep: 20, checkpoints: 4 }]);
});
