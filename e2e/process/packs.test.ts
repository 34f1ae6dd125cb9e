import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import { readCounters } from "../stage/store-control.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder } from "../stage/write-checkpoint.ts";
import { writeManyFiles } from "../stage/write-many-files.ts";

const MIB = 1024 * 1024;
const SMALL_FILES = 3_000;
let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.startNode({ name: "gpu-2", run: runName.parse("elsewhere") });
});
afterAll(() => stage.close());

/** Objects that a run's node wrote, by how often they were asked for and did succeed. */
const putsOf = async (run: string) =>
  (await readCounters(stage.store, "PutObject")).targets.filter((one) => one.key.includes(`runs/${run}/`));

async function restoreElsewhere(checkpointId: string, targetPath: string): Promise<void> {
  const node = await waitUntil("gpu-2 is online", async () =>
    (await stage.client.nodes.list.query()).find((one) => one.name === "gpu-2" && one.state === "online"),
  );
  const wish = { requestId: crypto.randomUUID(), checkpointId, nodeId: node.id, targetPath };
  const { transferId } = await stage.client.restores.create.mutate(wish);
  await waitUntil("the restore is done", async () => {
    const filter = { nodeId: null, run: null, states: [], cursor: null, limit: 50 };
    const { rows } = await stage.client.transfers.list.query(filter);
    const state = rows.find((one) => one.id === transferId)?.state;
    expect(state).not.toBe("failed");
    return state === "done";
  });
}

test("thousands of small files are a few objects: killed in the middle none of them is sent twice, and all come back", async () => {
  const run = runName.parse("packed");
  const node = { name: "gpu-1", run, flags: ["--limit-up", "6MB", "--concurrency", "3"] };
  const folder = stage.folderOf(node.name);
  const worker = await stage.startNode(node);
  const bytesOf = (number: number) => 1 + ((number * 7919) % 8_192);
  const content = "random";
  const path = writeManyFiles({ folder, step: 100, files: SMALL_FILES, bytesOf, content, modelBytes: 24 * MIB });
  const original = hashFolder(path);
  await waitUntil("some packs are stored", async () => (await putsOf(run)).some((one) => one.succeeded > 0));
  await worker.stop("SIGKILL");
  const { checkpoints } = await stage.client.runs.get.query({ run });
  expect(checkpoints[0]?.state).toBe("uploading");
  const stored = (await putsOf(run)).filter((one) => one.succeeded > 0);

  await stage.startNode(node);
  const { id } = await waitComplete(stage, run);
  const packs = await putsOf(run);
  expect(packs.length).toBeGreaterThan(1);
  expect(packs.length).toBeLessThan(20);
  expect(packs.filter((one) => one.succeeded > 1)).toEqual([]);
  // What was stored and not yet in the journal is only looked at.
  for (const before of stored) {
    expect(packs.find((one) => one.key === before.key)?.succeeded).toBe(1);
  }
  const view = await stage.client.checkpoints.get.query({ id });
  expect(view.fileCount).toBe(SMALL_FILES + 1);
  expect(view.files.filter((one) => one.path.includes("_tidemark"))).toEqual([]);

  const targetPath = join(stage.dir, "restored", "checkpoint-100");
  await restoreElsewhere(id, targetPath);
  expect(hashFolder(targetPath)).toEqual(original);
  const gets = (await readCounters(stage.store, "GetObject")).targets.filter((one) =>
    one.key.includes("_tidemark.packs"),
  );
  expect(gets.reduce((sum, one) => sum + one.requests, 0)).toBeLessThan(60);
});

test("with compression they take less room, come back as they were, and can be looked into", async () => {
  const run = runName.parse("compressed");
  const [profile] = await stage.client.profiles.list.query();
  if (profile === undefined) throw new Error("the stage has no profile");
  const { id: profileId, version } = profile;
  const about = { ...profile.about, packing: { belowBytes: 64 * 1024, zstd: true } };
  await stage.client.profiles.update.mutate({
    id: profileId,
    version,
    profile: profile.profile,
    credential: null,
    about,
  });
  await stage.startNode({ name: "gpu-3", run });
  const folder = stage.folderOf("gpu-3");
  const bytesOf = (number: number) => 2_000 + number;
  const path = writeManyFiles({ folder, step: 200, files: 300, bytesOf, content: "json", modelBytes: 0 });
  const original = hashFolder(path);
  const { id, sizeBytes } = await waitComplete(stage, run);
  const received = (await putsOf(run)).reduce((sum, one) => sum + one.receivedBytes, 0);
  expect(received).toBeLessThan(sizeBytes / 5);
  const targetPath = join(stage.dir, "restored", "checkpoint-200");
  await restoreElsewhere(id, targetPath);
  expect(hashFolder(targetPath)).toEqual(original);
  const looked = await stage.client.inspect.file.query({ place: { checkpointId: id, path: "shards/0002/299.json" } });
  expect(looked).toMatchObject({ sizeBytes: bytesOf(299), fault: null });
});
