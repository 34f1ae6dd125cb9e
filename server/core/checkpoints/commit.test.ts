import { describe, expect, it } from "vitest";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { filePath } from "#protocol/base/names.ts";
import { getObjectText, putObjectText } from "#storage/s3/objects.ts";
import { callAs, profileFor, type TestNode } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { newId } from "#server/platform/random-id.ts";
import { announce, manifestOf, newAttempt, run, upload } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { claim, node, other, profileId, store, test, pairForEach } from "#server/testing/pair-for-each.ts";

pairForEach();

const bucketKeys = (prefix: string) => keysOf(test.hub, profileId, prefix);
const commit = (who: TestNode, manifest: Manifest) => callAs(test.hub, who.caller).node.commit({ manifest });
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
    expect(view.manifestKey).toBe(
      `team/manifests/llama/e000001/s000000004500-${staged.checkpointId}-${manifest.attempt}.json`,
    );
    const { client } = await test.hub.stores.open(profileId);
    const stored = await getObjectText(client, { bucket: "training", key: view.manifestKey ?? "", maxBytes: 1e6 });
    expect(JSON.parse(stored.text)).toEqual(manifest);
    const read = await callAs(test.hub, node.caller).node.readCheckpoint({ checkpointId: staged.checkpointId });
    expect(read).toMatchObject({ manifest, sha256, copies: [{ isDamaged: false, store: { profileId } }] });
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
    const key = `team/manifests/llama/e000001/s000000000001-${staged.checkpointId}-${manifest.attempt}.json`;
    await putObjectText(client, { bucket: "training", key, text: JSON.stringify(manifest) });
    await commit(node, manifest);
    expect(await stateOf(staged.checkpointId)).toBe("complete");
  });

  it("refuses when another manifest already lies there", async () => {
    const { manifest, staged } = await ready();
    const { client } = await test.hub.stores.open(profileId);
    const key = `team/manifests/llama/e000001/s000000000001-${staged.checkpointId}-${manifest.attempt}.json`;
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
