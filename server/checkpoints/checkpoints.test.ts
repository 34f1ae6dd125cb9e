import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Manifest } from "#protocol/checkpoint.ts";
import { filePath } from "#protocol/names.ts";
import type { Operation } from "#protocol/operations.ts";
import { listObjects } from "#storage/listing.ts";
import { deleteObject, getObjectText, putObjectText } from "#storage/objects.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  openTestHub,
  openTestStore,
  profileFor,
  type TestHub,
  type TestNode,
  type TestStore,
} from "../hub/open-test-hub.ts";
import { newId } from "../random-id.ts";
import { announce, keyOf, makeSafe, manifestOf, newAttempt, putOf, run, upload } from "./stage-checkpoint.ts";

const fault = (code: string) => expect.objectContaining({ cause: expect.objectContaining({ code }) });

let store: TestStore;
let test: TestHub;
let profileId: string;
let node: TestNode;
let other: TestNode;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());
beforeEach(async () => {
  test = await openTestHub();
  profileId = await addTestProfile(test.hub, store.endpoint);
  node = await addTestNode(test.hub, profileId, "gpu-1");
  other = await addTestNode(test.hub, profileId, "gpu-2");
  await clearBucket();
});
afterEach(() => test.close());

const bucketKeys = async (prefix: string): Promise<string[]> => {
  const { client } = await test.hub.stores.open(profileId);
  const keys: string[] = [];
  for await (const { key } of listObjects(client, { bucket: "training", prefix })) keys.push(key);
  return keys;
};
async function clearBucket(): Promise<void> {
  const { client } = await test.hub.stores.open(profileId);
  for (const key of await bucketKeys("")) await deleteObject(client, { bucket: "training", key });
}
const claim = (who: TestNode) => callAs(test.hub, who.caller).node.claimEpoch({ run });
const sign = (who: TestNode, ...operations: Operation[]) => callAs(test.hub, who.caller).node.sign({ operations });
const commit = (who: TestNode, manifest: Manifest) => callAs(test.hub, who.caller).node.commit({ manifest });
const restoreOn = (who: TestNode, checkpointId: string) =>
  callAs(test.hub, "operator").restores.create({
    requestId: newId(),
    checkpointId,
    nodeId: who.nodeId,
    targetPath: "/checkpoints/x",
  });

describe("claiming a run", () => {
  it("gives the first node epoch 1, and the same again at its restart", async () => {
    expect(await claim(node)).toEqual({ epoch: 1, parent: null, newest: null });
    expect(await claim(node)).toEqual({ epoch: 1, parent: null, newest: null });
    expect(await bucketKeys("team/epochs/")).toEqual(["team/epochs/llama/e000001.json"]);
  });

  it("lets another node take over from the newest complete checkpoint", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 500 });
    const newest = await makeSafe(test.hub, node, { epoch: 1, step: 1000 });
    await announce(test.hub, node, { epoch: 1, step: 1500 });
    const taken = await claim(other);
    expect(taken).toMatchObject({
      epoch: 2,
      parent: { epoch: 1, step: 1000 },
      newest: { checkpointId: newest.checkpointId, writerEpoch: 1, step: 1000 },
    });
    expect(await claim(node)).toMatchObject({ epoch: 3, parent: { epoch: 1, step: 1000 } });
  });

  it("calls the highest epoch newest, not the highest step", async () => {
    await claim(node);
    await makeSafe(test.hub, node, { epoch: 1, step: 1000 });
    await claim(other);
    const rewound = await makeSafe(test.hub, other, { epoch: 2, step: 600 });
    expect((await claim(other)).newest).toMatchObject({ checkpointId: rewound.checkpointId, step: 600 });
  });

  it("goes to one of two nodes that claim at the same moment, and both know", async () => {
    const [first, second] = await Promise.all([claim(node), claim(other)]);
    expect(new Set([first.epoch, second.epoch])).toEqual(new Set([1, 2]));
    const view = await callAs(test.hub, "viewer").runs.get({ run });
    expect(view.epochs.map(({ epoch }) => epoch)).toEqual([2, 1]);
  });

  it("never gives out a number the bucket already knows", async () => {
    const { client } = await test.hub.stores.open(profileId);
    for (const number of ["000001", "000007"]) {
      await putObjectText(client, { bucket: "training", key: `team/epochs/llama/e${number}.json`, text: "{}" });
    }
    expect((await claim(node)).epoch).toBe(1_007);
  });

  it("goes on with the claim a hub wrote in the moment it was killed, for the same node only", async () => {
    const { epoch } = test.hub.db;
    const killed = vi.spyOn(test.hub.db, "$transaction").mockRejectedValueOnce(new Error("killed"));
    await expect(claim(node)).rejects.toThrow();
    killed.mockRestore();
    expect([await epoch.count(), await bucketKeys("team/epochs/")]).toEqual([0, ["team/epochs/llama/e000001.json"]]);
    expect((await claim(node)).epoch).toBe(1);
    const again = vi.spyOn(test.hub.db, "$transaction").mockRejectedValueOnce(new Error("killed"));
    await expect(claim(other)).rejects.toThrow();
    again.mockRestore();
    const third = await addTestNode(test.hub, profileId, "gpu-3");
    expect((await claim(third)).epoch).toBe(1_002);
  });

  it("is refused to a node that is revoked while the claim is written", async () => {
    const { open } = test.hub.stores;
    test.hub.stores.open = async (id) => {
      test.hub.stores.open = open;
      await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
      return open(id);
    };
    await expect(claim(node)).rejects.toEqual(fault("NODE_REVOKED"));
    expect((await callAs(test.hub, "viewer").runs.get({ run })).epochs).toEqual([]);
    // The number is spent: its claim lies in the bucket.
    expect((await claim(other)).epoch).toBe(1_001);
  });

  it("is refused when the run lives in another bucket", async () => {
    await claim(node);
    const elsewhere = await addTestProfile(test.hub, store.endpoint, { name: "elsewhere", prefix: "b/" });
    const stranger = await addTestNode(test.hub, elsewhere, "gpu-3");
    await expect(claim(stranger)).rejects.toEqual(fault("CONFLICT"));
  });
});

describe("the fence around signatures", () => {
  it("lets a writer do all it needs under its own attempt", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const key = keyOf(staged, "model.safetensors");
    const uploadId = "upload";
    const { requests } = await sign(
      node,
      { op: "create", key, nonce: "n" },
      { op: "part", key, uploadId, partNumber: 1, sizeBytes: 5, crc32: "00000000" },
      { op: "parts", key, uploadId, after: 0 },
      { op: "complete", key, uploadId },
      { op: "abort", key, uploadId },
      { op: "head", key },
    );
    expect(requests.map(({ method }) => method)).toEqual(["POST", "PUT", "GET", "POST", "DELETE", "HEAD"]);
    for (const { url } of requests) expect(url).not.toContain("test-secret-key");
  });

  it("refuses an attempt that was not announced, of whatever run, epoch or prefix", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const good = keyOf(staged, "model.safetensors");
    const hostile = [
      good.replace(staged.attempt, newAttempt()),
      good.replace("/llama/", "/mistral/"),
      good.replace("/e000001/", "/e000002/"),
      good.replace("team/", "other/"),
      good.replace("team/", ""),
      "team/manifests/llama/e000001/s000000000001-x.json",
      "team/epochs/llama/e000002.json",
      `${good}/../../../../epochs/llama/e000002.json`,
      good.replace("model", "..%2Fmodel").replace("%2F", "/"),
      `team/runs/llama/e000001/${staged.attempt}/`,
      good.replace("model.safetensors", "/model.safetensors"),
      good.replace("model.safetensors", "./model.safetensors"),
      good.replace("model.safetensors", "model.safetensors\n"),
      good.replace("model.safetensors", "a\\b"),
      good.replace("model.safetensors", "\ud800"),
      good.replace("team/runs", "team//runs"),
      good.replace("/runs/", "/%72uns/"),
      good.replace("/llama/", "/ｌlama/"),
      good.replace("/e000001/", "/e1/"),
      good.replace(staged.attempt, staged.attempt.toUpperCase()),
      `/${good}`,
    ];
    for (const key of hostile) {
      await expect(sign(node, { op: "create", key, nonce: "n" }), key).rejects.toEqual(fault("NOT_THIS_NODES"));
      await expect(sign(node, { op: "head", key }), key).rejects.toEqual(fault("NOT_THIS_NODES"));
    }
  });

  it("refuses another node's attempt, and the whole batch it comes in", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const key = keyOf(staged, "model.safetensors");
    await expect(sign(other, { op: "create", key, nonce: "n" })).rejects.toEqual(fault("NOT_THIS_NODES"));
    await claim(other);
    const own = await announce(test.hub, other, { epoch: 2, step: 2 });
    const ownKey = keyOf(own, "model.safetensors");
    const batch = sign(other, { op: "create", key: ownKey, nonce: "n" }, { op: "create", key, nonce: "n" });
    await expect(batch).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("refuses a writer whose run was taken over", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    await claim(other);
    const put = putOf(staged, { path: "model.safetensors", text: "x" });
    await expect(sign(node, put)).rejects.toEqual(fault("EPOCH_OVER"));
    await expect(announce(test.hub, node, { epoch: 1, step: 2 })).rejects.toEqual(fault("EPOCH_OVER"));
    await expect(announce(test.hub, node, { epoch: 2, step: 2 })).rejects.toEqual(fault("EPOCH_OVER"));
  });

  it("refuses to write under a checkpoint that is complete", async () => {
    await claim(node);
    const staged = await makeSafe(test.hub, node, { epoch: 1, step: 1 });
    const put = putOf(staged, { path: "model.safetensors", text: "other weights" });
    await expect(sign(node, put)).rejects.toEqual(fault("NOT_THIS_NODES"));
    const key = keyOf(staged, "model.safetensors");
    await expect(sign(node, { op: "complete", key, uploadId: "u" })).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("lets a node take back what it left under its own attempts, whatever became of them, and nobody else", async () => {
    await claim(node);
    const replaced = await announce(test.hub, node, { epoch: 1, step: 1 });
    const complete = await announce(test.hub, node, { epoch: 1, step: 1, checkpointId: replaced.checkpointId });
    const etags = await upload(test.hub, node, complete);
    await commit(node, manifestOf(test.hub, node, { staged: complete, etags }));
    const torn = await announce(test.hub, node, { epoch: 1, step: 2 });
    await claim(other);
    for (const staged of [replaced, complete, torn]) {
      const abort: Operation = { op: "abort", key: keyOf(staged, "model.safetensors"), uploadId: "u" };
      expect((await sign(node, abort)).requests.map(({ method }) => method)).toEqual(["DELETE"]);
      await expect(sign(other, abort)).rejects.toEqual(fault("NOT_THIS_NODES"));
      const elsewhere = { ...abort, key: abort.key.replace("/e000001/", "/e000002/") };
      await expect(sign(node, elsewhere)).rejects.toEqual(fault("NOT_THIS_NODES"));
    }
  });

  it("refuses the attempt before the present one of the same checkpoint", async () => {
    await claim(node);
    const first = await announce(test.hub, node, { epoch: 1, step: 1 });
    const second = await announce(test.hub, node, { epoch: 1, step: 1, checkpointId: first.checkpointId });
    const file = { path: "model.safetensors", text: "x" };
    await expect(sign(node, putOf(first, file))).rejects.toEqual(fault("NOT_THIS_NODES"));
    await expect(sign(node, putOf(second, file))).resolves.toHaveProperty("requests");
  });

  it("lets a node read what it was asked to restore, exactly, until the restore has ended", async () => {
    await claim(node);
    const files = [
      { path: "model.safetensors", text: "weights" },
      { path: "trainer_state.json", text: "{}" },
    ];
    const staged = await announce(test.hub, node, { epoch: 1, step: 1, files });
    const etags = await upload(test.hub, node, staged);
    await commit(node, manifestOf(test.hub, node, { staged, etags }));
    const get = (path: string): Operation => ({
      op: "get",
      key: keyOf(staged, path),
      offset: 0,
      length: 2,
      etag: null,
    });
    const read = () => callAs(test.hub, other.caller).node.readCheckpoint({ checkpointId: staged.checkpointId });
    await expect(sign(other, get("model.safetensors"))).rejects.toEqual(fault("NOT_THIS_NODES"));
    await expect(read()).rejects.toEqual(fault("NOT_THIS_NODES"));

    const { transferId } = await restoreOn(other, staged.checkpointId);
    expect((await read()).manifest.files).toHaveLength(2);
    const { requests } = await sign(other, get("model.safetensors"));
    const answer = await fetch(requests[0]?.url ?? "", { headers: requests[0]?.headers ?? {} });
    expect([answer.status, await answer.text()]).toEqual([206, "we"]);
    await expect(sign(other, get("optimizer.pt"))).rejects.toEqual(fault("NOT_THIS_NODES"));
    await expect(sign(other, putOf(staged, files[0] ?? { path: "", text: "" }))).rejects.toEqual(
      fault("NOT_THIS_NODES"),
    );

    const [order] = await test.hub.db.command.findMany({ where: { transferId } });
    const ended = { at: test.hub.now(), type: "command-ended" as const, commandId: order?.id ?? "" };
    await callAs(test.hub, other.caller).node.record({ events: [{ ...ended, seq: 1, outcome: "done", fault: null }] });
    await expect(sign(other, get("model.safetensors"))).rejects.toEqual(fault("NOT_THIS_NODES"));
    await expect(read()).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("lets the writer of a run read the run", async () => {
    await claim(node);
    const staged = await makeSafe(test.hub, node, { epoch: 1, step: 1 });
    const get: Operation = { op: "get", key: keyOf(staged, "model.safetensors"), offset: 0, length: 1, etag: null };
    await expect(sign(node, get)).resolves.toHaveProperty("requests");
    await claim(other);
    await expect(sign(other, get)).resolves.toHaveProperty("requests");
    await expect(sign(node, get)).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("opens nothing to a revoked node", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    const put = putOf(staged, { path: "model.safetensors", text: "x" });
    await expect(sign(node, put)).rejects.toEqual(fault("NODE_REVOKED"));
  });
});

describe("announcing", () => {
  it("twice changes nothing", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const again = {
      checkpointId: staged.checkpointId,
      run,
      writerEpoch: 1,
      step: 1,
      attempt: staged.attempt,
      framework: null,
      capturedAt: 1,
      files: [{ path: filePath.parse("other"), sizeBytes: 1 }],
    };
    expect(await callAs(test.hub, node.caller).node.announce(again)).toEqual({ ok: true });
    const view = await callAs(test.hub, "viewer").checkpoints.get({ id: staged.checkpointId });
    expect(view.files.map(({ path }) => path)).toEqual(["model.safetensors"]);
    const { checkpointId: _, ...rest } = again;
    const stolen = callAs(test.hub, node.caller).node.announce({ ...rest, checkpointId: newId() });
    await expect(stolen).rejects.toEqual(fault("CONFLICT"));
  });

  it("never takes an attempt a second time, not even one that another has replaced", async () => {
    await claim(node);
    const first = await announce(test.hub, node, { epoch: 1, step: 1 });
    await announce(test.hub, node, { epoch: 1, step: 1, checkpointId: first.checkpointId });
    const again = callAs(test.hub, node.caller).node.announce({
      checkpointId: newId(),
      run,
      writerEpoch: 1,
      step: 2,
      attempt: first.attempt,
      framework: null,
      capturedAt: 1,
      files: [{ path: filePath.parse("model.safetensors"), sizeBytes: 1 }],
    });
    await expect(again).rejects.toEqual(fault("CONFLICT"));
  });
});

describe("the commit", () => {
  const ready = async (step = 1) => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step });
    const etags = await upload(test.hub, node, staged);
    return { staged, etags, manifest: manifestOf(test.hub, node, { staged, etags }) };
  };
  const stateOf = async (checkpointId: string) =>
    (await callAs(test.hub, "viewer").checkpoints.get({ id: checkpointId })).state;
  const refused = async (manifest: Manifest, code: string) => {
    await expect(commit(node, manifest)).rejects.toEqual(fault(code));
    expect(await stateOf(manifest.id)).toBe("uploading");
    expect(await bucketKeys("team/manifests/")).toEqual([]);
  };
  const withExtent = (manifest: Manifest, changes: object): Manifest => ({
    ...manifest,
    files: manifest.files.map((file) => ({
      ...file,
      extents: file.extents.map((extent) => ({ ...extent, ...changes })),
    })),
  });

  it("makes a checkpoint complete, with its manifest in the bucket under a key of the hub's", async () => {
    const { staged, manifest } = await ready(4500);
    const { sha256 } = await commit(node, manifest);
    const view = await callAs(test.hub, "viewer").checkpoints.get({ id: staged.checkpointId });
    expect(view).toMatchObject({ state: "complete", isNewest: true, manifestSha256: sha256, metrics: { loss: 0.5 } });
    expect(view.manifestKey).toBe(`team/manifests/llama/e000001/s000000004500-${staged.checkpointId}.json`);
    const { client } = await test.hub.stores.open(profileId);
    const stored = await getObjectText(client, { bucket: "training", key: view.manifestKey ?? "", maxBytes: 1e6 });
    expect(JSON.parse(stored.text)).toEqual(manifest);
    const read = await callAs(test.hub, node.caller).node.readCheckpoint({ checkpointId: staged.checkpointId });
    expect(read).toEqual({ manifest, sha256 });
  });

  it("shows how well the training went, not where it stood", async () => {
    const { manifest, staged } = await ready();
    await commit(node, { ...manifest, metrics: { epoch: 1.5, step: 4500, global_step: 4500, loss: 0.25 } });
    const view = await callAs(test.hub, "viewer").checkpoints.get({ id: staged.checkpointId });
    expect(view.metrics).toEqual({ loss: 0.25 });
    const listed = await callAs(test.hub, "viewer").runs.get({ run });
    expect(listed.checkpoints.map(({ metrics }) => metrics)).toEqual([{ loss: 0.25 }]);
    expect([view.location, listed.location].map((place) => place.match(/s3:\/\//g)?.length)).toEqual([1, 1]);
  });

  it("gives the same answer when it is repeated, also after the run was taken over", async () => {
    const { manifest } = await ready();
    const first = await commit(node, manifest);
    expect(await commit(node, manifest)).toEqual(first);
    await claim(other);
    expect(await commit(node, manifest)).toEqual(first);
    const safe = await test.hub.db.event.count({ where: { kind: "checkpoint-safe" } });
    expect(safe).toBe(1);
  });

  it("refuses another manifest for a checkpoint that is complete", async () => {
    const { manifest } = await ready();
    await commit(node, manifest);
    await expect(commit(node, { ...manifest, metrics: { loss: 0.1 } })).rejects.toEqual(fault("CONFLICT"));
  });

  it("of two at the same moment is one, or one of them", async () => {
    const { manifest } = await ready();
    const [first, second] = await Promise.all([commit(node, manifest), commit(node, manifest)]);
    expect(first).toEqual(second);
    expect(await test.hub.db.event.count({ where: { kind: "checkpoint-safe" } })).toBe(1);
    const later = await ready(2);
    const tries = await Promise.allSettled([
      commit(node, later.manifest),
      commit(node, { ...later.manifest, metrics: { loss: 9 } }),
    ]);
    expect(tries.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  it("does not take a listing that failed for an empty one", async () => {
    const { manifest } = await ready();
    const elsewhere = { id: profileId, version: 1, profile: profileFor("http://127.0.0.1:9"), credential: null };
    await callAs(test.hub, "admin").profiles.update(elsewhere);
    await expect(commit(node, manifest)).rejects.toEqual(fault("LINK_DOWN"));
    await callAs(test.hub, "admin").profiles.update({
      ...elsewhere,
      version: 2,
      profile: profileFor(store.endpoint),
    });
    await commit(node, manifest);
    expect(await stateOf(manifest.id)).toBe("complete");
  });

  it("goes on where a hub that was killed after writing the manifest left off", async () => {
    const { manifest, staged } = await ready();
    const { client } = await test.hub.stores.open(profileId);
    const key = `team/manifests/llama/e000001/s000000000001-${staged.checkpointId}.json`;
    await putObjectText(client, { bucket: "training", key, text: JSON.stringify(manifest) });
    await commit(node, manifest);
    expect(await stateOf(staged.checkpointId)).toBe("complete");
  });

  it("refuses when another manifest already lies there", async () => {
    const { manifest, staged } = await ready();
    const { client } = await test.hub.stores.open(profileId);
    const key = `team/manifests/llama/e000001/s000000000001-${staged.checkpointId}.json`;
    await putObjectText(client, { bucket: "training", key, text: "{}" });
    await expect(commit(node, manifest)).rejects.toEqual(fault("CONFLICT"));
    expect(await stateOf(staged.checkpointId)).toBe("uploading");
  });

  it("refuses a forged ETag", async () => {
    const { manifest } = await ready();
    await refused(withExtent(manifest, { etag: `"${"0".repeat(32)}"` }), "OBJECT_CHANGED");
  });

  it("refuses an object that is not in the bucket", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const etags = new Map([["model.safetensors", `"${"0".repeat(32)}"`]]);
    await refused(manifestOf(test.hub, node, { staged, etags }), "NO_SUCH_KEY");
  });

  it("refuses an object of another size", async () => {
    await claim(node);
    const staged = await announce(test.hub, node, { epoch: 1, step: 1 });
    const shorter = { ...staged, files: staged.files.map(({ path }) => ({ path, text: "short" })) };
    const etags = await upload(test.hub, node, shorter);
    await refused(manifestOf(test.hub, node, { staged, etags }), "SIZE_MISMATCH");
  });

  it("refuses keys outside the announced attempt, even of objects that exist", async () => {
    const first = await ready(1);
    await commit(node, first.manifest);
    const { manifest } = await ready(2);
    const stolen = first.manifest.files[0]?.extents[0];
    await expect(commit(node, withExtent(manifest, { key: stolen?.key }))).rejects.toEqual(fault("NOT_THIS_NODES"));
    const own = withExtent(manifest, { key: "team/manifests/llama/e000001/x" });
    await expect(commit(node, own)).rejects.toEqual(fault("NOT_THIS_NODES"));
    expect(await stateOf(manifest.id)).toBe("uploading");
  });

  it("refuses what was not announced", async () => {
    const { manifest } = await ready();
    await refused({ ...manifest, step: 2 }, "BAD_INPUT");
    await refused({ ...manifest, writerEpoch: 2 }, "BAD_INPUT");
    await refused({ ...manifest, parent: { epoch: 1, step: 0 } }, "BAD_INPUT");
    await refused({ ...manifest, attempt: newAttempt() }, "BAD_INPUT");
    await refused({ ...manifest, node: { ...manifest.node, id: other.nodeId } }, "BAD_INPUT");
    await refused({ ...manifest, homes: [{ profileId, bucket: "elsewhere", prefix: "team/" }] }, "BAD_INPUT");
    const renamed = manifest.files.map((file) => ({ ...file, path: filePath.parse("other.bin") }));
    await refused({ ...manifest, files: renamed }, "BAD_INPUT");
    await expect(commit(node, { ...manifest, id: newId() })).rejects.toEqual(fault("NOT_FOUND"));
  });

  it("refuses everybody but the present writer", async () => {
    const { manifest } = await ready();
    await expect(commit(other, manifest)).rejects.toEqual(fault("NOT_THIS_NODES"));
    await claim(other);
    await expect(commit(node, manifest)).rejects.toEqual(fault("EPOCH_OVER"));
    expect(await stateOf(manifest.id)).toBe("torn");
  });

  it("refuses a writer that is replaced while its objects are compared", async () => {
    const { manifest } = await ready();
    const { open } = test.hub.stores;
    let isTaken = false;
    test.hub.stores.open = async (id) => {
      if (!isTaken) {
        isTaken = true;
        await claim(other);
      }
      return open(id);
    };
    await expect(commit(node, manifest)).rejects.toEqual(fault("EPOCH_OVER"));
    expect(isTaken).toBe(true);
    expect(await stateOf(manifest.id)).toBe("torn");
  });

  it("refuses a node that is revoked while its objects are compared", async () => {
    const { manifest } = await ready();
    const { open } = test.hub.stores;
    let isRevoked = false;
    test.hub.stores.open = async (id) => {
      if (!isRevoked) {
        isRevoked = true;
        await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
      }
      return open(id);
    };
    await expect(commit(node, manifest)).rejects.toEqual(fault("NODE_REVOKED"));
    expect(await stateOf(manifest.id)).toBe("torn");
  });

  it("ignores what else lies under the attempt", async () => {
    const { manifest, staged } = await ready();
    const stray = { ...staged, files: [{ path: "stray.bin", text: "stray" }] };
    await upload(test.hub, node, stray);
    await commit(node, manifest);
    expect(await stateOf(staged.checkpointId)).toBe("complete");
  });

  it("is durable before it is answered", async () => {
    const { manifest, staged } = await ready();
    await commit(node, manifest);
    await test.restart();
    expect(await stateOf(staged.checkpointId)).toBe("complete");
  });
});
