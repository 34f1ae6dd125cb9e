import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { IMPLEMENTATIONS, stageOver, type Staged, waitSafe } from "../stage/stage-over.ts";
import { armFault, readCounters, readLog } from "../stage/store-control.ts";
import { waitComplete } from "../stage/wait-complete.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder } from "../stage/write-checkpoint.ts";
import { writeManyFiles } from "../stage/write-many-files.ts";

const MIB = 1024 * 1024;
const SMALL_FILES = 3_000;
describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation);
  });
  afterAll(() => staged.close());

  /** Objects that a run's node wrote, by how often they were asked for and did succeed. */
  const putsOf = async (run: string) =>
    (await readCounters(staged.store, "PutObject")).targets.filter((one) => one.key.includes(`runs/${run}/`));

  test("thousands of small files are a few objects: killed in the middle none of them is sent twice, and all come back", async () => {
    const run = runName.parse("packed");
    const node = { name: "gpu-1", run, flags: ["--limit-up", "6MB", "--concurrency", "3"] };
    const folder = staged.folderOf(node.name);
    // A pack whose answer is lost is stored anyway.
    await armFault(staged.store, {
      op: "PutObject",
      keyPattern: "*00002.pack",
      attempt: 1,
      action: { kind: "drop-response" },
    });
    const worker = await staged.startNode(node);
    const bytesOf = (number: number) => 1 + ((number * 7919) % 8_192);
    const content = "random";
    const path = writeManyFiles({ folder, step: 100, files: SMALL_FILES, bytesOf, content, modelBytes: 24 * MIB });
    const original = hashFolder(path);
    const putsOfSecond = async () =>
      (await readLog(staged.store)).filter(
        ({ key, operation }) => operation === "PutObject" && key.endsWith("00002.pack"),
      );
    await waitUntil(
      "some packs are stored, and the answer of one is lost",
      async () => (await putsOf(run)).some((one) => one.succeeded > 0) && (await putsOfSecond()).length > 0,
    );
    await worker.stop("SIGKILL");
    expect(await staged.completeOf(run)).toEqual([]);
    const stored = (await putsOf(run)).filter((one) => one.succeeded > 0);

    await staged.startNode(node);
    const { fileCount } = await waitSafe(staged, run);
    const packs = await putsOf(run);
    expect(packs.length).toBeGreaterThan(1);
    expect(packs.length).toBeLessThan(20);
    expect(packs.filter((one) => one.succeeded > 1)).toEqual([]);
    // An object that was stored and is not in the journal yet is only looked at.
    for (const before of stored) {
      expect(packs.find((one) => one.key === before.key)?.succeeded).toBe(1);
    }
    const sent = await putsOfSecond();
    // Tried again, it is found and not overwritten.
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.filter(({ status }) => status === 200)).toEqual([]);
    expect(fileCount).toBe(SMALL_FILES + 1);

    const targetPath = join(staged.dir, "restored", "checkpoint-100");
    expect(await staged.restore(node.name, "packed", targetPath)).toMatchObject({ code: 0 });
    expect(hashFolder(targetPath)).toEqual(original);
    const gets = (await readCounters(staged.store, "GetObject")).targets.filter((one) =>
      one.key.includes("_tidemark.packs"),
    );
    expect(gets.reduce((sum, one) => sum + one.requests, 0)).toBeLessThan(60);
  });

  if (implementation !== "hub") return;

  async function restoreElsewhere(checkpointId: string, targetPath: string): Promise<void> {
    const node = await waitUntil("gpu-2 is online", async () =>
      (await staged.stage().client.nodes.list.query()).find((one) => one.name === "gpu-2" && one.state === "online"),
    );
    const request = { requestId: crypto.randomUUID(), checkpointId, nodeId: node.id, targetPath };
    const { transferId } = await staged.stage().client.restores.create.mutate(request);
    await waitUntil("the restore is done", async () => {
      const filter = { nodeId: null, run: null, states: [], cursor: null, limit: 50 };
      const { rows } = await staged.stage().client.transfers.list.query(filter);
      const state = rows.find((one) => one.id === transferId)?.state;
      expect(state).not.toBe("failed");
      return state === "done";
    });
  }

  test("with compression they take less room, come back as they were, and can be looked into", async () => {
    const run = runName.parse("compressed");
    const [profile] = await staged.stage().client.profiles.list.query();
    if (profile === undefined) throw new Error("the stage has no profile");
    const { id: profileId, version } = profile;
    const about = { ...profile.about, packing: { belowBytes: 64 * 1024, zstd: true } };
    await staged.stage().client.profiles.update.mutate({
      id: profileId,
      version,
      profile: profile.profile,
      credential: null,
      about,
    });
    await staged.startNode({ name: "gpu-2", run: runName.parse("elsewhere") });
    await staged.startNode({ name: "gpu-3", run });
    const folder = staged.folderOf("gpu-3");
    const bytesOf = (number: number) => 2_000 + number;
    const path = writeManyFiles({ folder, step: 200, files: 300, bytesOf, content: "json", modelBytes: 0 });
    const original = hashFolder(path);
    const { id, sizeBytes } = await waitComplete(staged.stage(), run);
    const received = (await putsOf(run)).reduce((sum, one) => sum + one.receivedBytes, 0);
    expect(received).toBeLessThan(sizeBytes / 5);
    const targetPath = join(staged.dir, "restored", "checkpoint-200");
    await restoreElsewhere(id, targetPath);
    expect(hashFolder(targetPath)).toEqual(original);
    const view = await staged.stage().client.checkpoints.get.query({ id });
    expect(view.fileCount).toBe(300);
    expect(view.files.filter((one) => one.path.includes("_tidemark"))).toEqual([]);
    const looked = await staged
      .stage()
      .client.inspect.file.query({ place: { checkpointId: id, path: "shards/0002/299.json" } });
    expect(looked).toMatchObject({ sizeBytes: bytesOf(299), fault: null });
  });
});
