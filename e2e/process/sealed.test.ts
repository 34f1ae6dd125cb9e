import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { sumPlainly } from "#storage/testing/plain-safetensors.ts";
import { faultOf } from "../stage/hub-client.ts";
import { IMPLEMENTATIONS, stageOver, type Staged, waitSafe } from "../stage/stage-over.ts";
import { enrolRogue } from "../stage/rogue-node.ts";
import { armFault, clearFaults, readCounters } from "../stage/store-control.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { hashFolder } from "../stage/write-checkpoint.ts";
import { writeManyFiles } from "../stage/write-many-files.ts";

const MIB = 1024 * 1024;
const run = runName.parse("sealed");
describe.each(IMPLEMENTATIONS)("over %s", (implementation) => {
  let staged: Staged;
  beforeAll(async () => {
    staged = await stageOver(implementation, { isSealed: true });
  });
  afterAll(() => staged.close());

  const inStore = (text: string): boolean => {
    const folder = join(staged.dir, "store");
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return files.some((entry) => readFileSync(join(entry.parentPath, entry.name)).includes(text));
  };

  test("a worker killed in the middle goes on with the parts it sent, and what it made can be read by nobody without the key", async () => {
    const node = { name: "gpu-1", run, flags: ["--limit-up", "8MB", "--concurrency", "3"] };
    const folder = staged.folderOf(node.name);
    const worker = await staged.startNode(node);
    const bytesOf = (number: number) => 500 + number;
    const path = writeManyFiles({ folder, step: 100, files: 200, bytesOf, content: "json", modelBytes: 30 * MIB });
    const original = hashFolder(path);
    const sent = async () =>
      (await readCounters(staged.store, "UploadPart")).targets.filter(
        (one) => one.key.includes(`runs/${run}/`) && one.succeeded > 0,
      );
    await waitUntil("some parts are stored", async () => (await sent()).length > 0);
    await worker.stop("SIGKILL");
    const before = await sent();
    await staged.startNode(node);
    await waitSafe(staged, run, 100);
    for (const { key, partNumber } of before) {
      const now = (await sent()).find((one) => one.key === key && one.partNumber === partNumber);
      expect(now?.succeeded).toBe(1);
    }
    expect(inStore("199.json")).toBe(false);
    expect(inStore("shards/")).toBe(false);
    expect(inStore(readFileSync(join(path, "shards/0001/199.json"), "utf8").slice(0, 40))).toBe(false);
    // Once it is safe the key of the checkpoint is nowhere on this node.
    const state = staged.stateOf("gpu-1");
    await waitUntil(
      "the capture is gone",
      async () => !readdirSync(state, { recursive: true }).some((name) => String(name).endsWith("seal.json")),
    );

    const targetPath = join(staged.dir, "restored", "checkpoint-100");
    expect(await staged.restore("gpu-1", run, targetPath)).toMatchObject({ code: 0 });
    expect(hashFolder(targetPath)).toEqual(original);
  });

  if (implementation !== "hub") return;

  const completeAt = (step: number) =>
    waitUntil(`step ${step} is complete`, async () => {
      const { checkpoints } = await staged.stage().client.runs.get.query({ run });
      return checkpoints.find((one) => one.state === "complete" && one.step === step);
    });

  const nodeIdOf = (name: string) =>
    waitUntil(`${name} is online`, async () =>
      (await staged.stage().client.nodes.list.query()).find((one) => one.name === name && one.state === "online"),
    ).then(({ id }) => id);

  async function endOf(transferId: string): Promise<string> {
    return waitUntil("the transfer has ended", async () => {
      const filter = { nodeId: null, run: null, states: [], cursor: null, limit: 50 };
      const { rows } = await staged.stage().client.transfers.list.query(filter);
      const row = rows.find((one) => one.id === transferId);
      if (row?.state === "failed") return row.fault?.code ?? "failed";
      return row?.state === "done" ? "done" : null;
    });
  }

  async function restoreOn(name: string, about: { checkpointId: string; targetPath: string }): Promise<string> {
    const command = { requestId: crypto.randomUUID(), nodeId: await nodeIdOf(name), ...about };
    const { transferId } = await staged.stage().client.restores.create.mutate(command);
    return endOf(transferId);
  }

  test("the hub shows and restores it with its key, and records to whom it gave the key", async () => {
    await staged.startNode({ name: "gpu-2", run: runName.parse("elsewhere") });
    const { id } = await completeAt(100);
    const view = await staged.stage().client.checkpoints.get.query({ id });
    expect(view.sealed).toMatchObject({ isKeyHere: true });
    expect(view.files.map((one) => one.path)).toContain("shards/0001/199.json");
    const targetPath = join(staged.dir, "restored", "by-the-hub");
    expect(await restoreOn("gpu-2", { checkpointId: id, targetPath })).toBe("done");
    expect(hashFolder(targetPath)).toEqual(hashFolder(join(staged.folderOf("gpu-1"), "checkpoint-100")));
    const looked = await staged
      .stage()
      .client.inspect.file.query({ place: { checkpointId: id, path: "shards/0001/199.json" } });
    expect(looked).toMatchObject({ sizeBytes: 500 + 199, fault: null });
    const { rows } = await staged.stage().client.audit.list.query({ action: "release key" });
    // A restore that a node orders itself asks twice: for the place, and for the bytes.
    const given = new Set(rows.map(({ actor, subjectId }) => `${actor} ${subjectId}`));
    expect([...given]).toEqual([`gpu-2 ${id}`, `gpu-1 ${id}`]);
  });

  test("one tensor of it is tried without writing, and restored by the node that gets the key for that", async () => {
    const { id } = await completeAt(100);
    const targetPath = join(staged.dir, "restored", "one-layer");
    const command = { checkpointId: id, targetPath, choice: { tensors: ["model.layers.7.weight"] } };
    const nodeId = await nodeIdOf("gpu-2");
    const { requestId } = await staged
      .stage()
      .client.restores.preview.mutate({ ...command, requestId: crypto.randomUUID(), nodeId });
    const tried = await waitUntil("the node has answered", async () => {
      const { rows } = await staged.stage().client.commands.list.query({ requestId, limit: 1 });
      return rows.find(({ endedAt }) => endedAt !== null);
    });
    expect(tried).toMatchObject({ fault: null, detail: { verdict: "ok", files: 1, atMost: true } });
    const started = await staged.stage().client.restores.start.mutate({
      ...command,
      requestId: crypto.randomUUID(),
      nodeIds: [nodeId],
    });
    expect(await endOf(started.restores[0]?.transferId ?? "")).toBe("done");
    const tensorsIn = (folder: string) => sumPlainly(readFileSync(join(folder, "model.safetensors"))).tensors;
    const wanted = tensorsIn(join(staged.folderOf("gpu-1"), "checkpoint-100"));
    expect(tensorsIn(targetPath)).toEqual(wanted.filter(({ name }) => name === "model.layers.7.weight"));
    expect(tensorsIn(targetPath)).toHaveLength(1);
  });

  test("verifying needs no key; a bit that changed in the store is found, and refused by the restore", async () => {
    const { id } = await completeAt(100);
    const verify = await staged
      .stage()
      .client.checkpoints.verify.mutate({ checkpointId: id, requestId: crypto.randomUUID() });
    expect(await endOf(verify.transferId)).toBe("done");
    await armFault(staged.store, { op: "GetObject", action: { kind: "flip", side: "response", offset: 4096 } });
    const targetPath = join(staged.dir, "restored", "damaged");
    const ended = await restoreOn("gpu-2", { checkpointId: id, targetPath });
    expect(["SEAL_BROKEN", "CHECKSUM_MISMATCH"]).toContain(ended);
    expect(() => readdirSync(targetPath)).toThrow();
    await clearFaults(staged.store);
  });

  test("a node taken over by a stranger reads nothing that nobody asked it to restore", async () => {
    const { id } = await completeAt(100);
    const rogue = await enrolRogue(staged.stage(), { name: "rogue" });
    const refused = (work: Promise<unknown>) =>
      work.then(
        () => "nothing was refused",
        (error: unknown) => faultOf(error)?.code,
      );
    expect(await refused(rogue.node.releaseKey.mutate({ checkpointId: id }))).toBe("SEAL_KEY_REFUSED");
    // Once a person has handed it the run it is given what it goes on from: the newest, and nothing older.
    const bytesOf = () => 100;
    writeManyFiles({ folder: staged.folderOf("gpu-1"), step: 200, files: 2, bytesOf, content: "json", modelBytes: 0 });
    const newest = await completeAt(200);
    await staged.stage().client.runs.handOver.mutate({ run, nodeId: rogue.nodeId });
    await rogue.node.claimEpoch.mutate({ run });
    expect((await rogue.node.releaseKey.mutate({ checkpointId: newest.id })).key).toHaveLength(43);
    expect(await refused(rogue.node.releaseKey.mutate({ checkpointId: id }))).toBe("SEAL_KEY_REFUSED");
  });
});
