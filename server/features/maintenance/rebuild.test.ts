import { describe, expect, it } from "vitest";
import { epochClaimKey, manifestKey } from "#protocol/checkpoint/keys.ts";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { filePath } from "#protocol/base/names.ts";
import { getObjectText, putObjectText } from "#storage/s3/objects.ts";
import { keyOf, makeSafe, newAttempt, run } from "#server/testing/stage-checkpoint.ts";
import { claim, node, other, pairForEach, profileId, store, test } from "#server/testing/pair-for-each.ts";
import { newId } from "#server/platform/random-id.ts";
import { mayDelete } from "#server/core/retention/may-delete.ts";
import { rebuild } from "./rebuild.ts";
import { rebuildFrom, tools, toolsForEach } from "#server/testing/tools-for-each.ts";
import type { Tools } from "./command-line/tools.ts";

pairForEach();
toolsForEach();

const put = async (key: string, text: string) => {
  const { client, access } = await test.hub.stores.open(profileId);
  await putObjectText(client, { bucket: access.bucket, key, text });
};

/** What two nodes made of one run. */
async function makeHistory() {
  await claim(node);
  const first = await makeSafe(test.hub, node, { epoch: 1, step: 10 });
  await claim(other);
  const second = await makeSafe(test.hub, other, { epoch: 2, step: 20 });
  return { first, second };
}

const columns = {
  id: true,
  run: true,
  step: true,
  writerEpoch: true,
  attempt: true,
  nodeId: true,
  profileId: true,
  bucket: true,
  prefix: true,
  state: true,
  metrics: true,
  fileCount: true,
  sizeBytes: true,
  capturedAt: true,
  manifestKey: true,
  manifestSha256: true,
  content: { select: { manifest: true } },
} as const;

describe("a rebuild", () => {
  it("writes down everything that was safe as it was, under the profile that the manifests name", async () => {
    await makeHistory();
    const found = await rebuildFrom(store);
    expect(found).toEqual({ runs: 1, epochs: 2, checkpoints: 2, missing: 0, refused: 0, refusedKeys: [] });
    const read = (db: Tools["db"]) => db.checkpoint.findMany({ select: columns, orderBy: { step: "asc" } });
    expect(await read(tools.db)).toEqual(await read(test.hub.db));
    const claims = (db: Tools["db"]) =>
      db.epoch.findMany({
        orderBy: { epoch: "asc" },
        select: { run: true, epoch: true, parentEpoch: true, parentStep: true, nodeId: true },
      });
    expect(await claims(tools.db)).toEqual(await claims(test.hub.db));
    expect(await tools.db.run.findFirst()).toMatchObject({ name: run, profileId, highestSeen: 2 });
  });

  it("has its nodes as gone: their credentials are not known, and deletions stay off", async () => {
    await makeHistory();
    await rebuildFrom(store);
    const nodes = await tools.db.node.findMany({ orderBy: { name: "asc" } });
    expect(nodes.map(({ id, name }) => [id, name])).toEqual([
      [node.nodeId, "gpu-1"],
      [other.nodeId, "gpu-2"],
    ]);
    for (const { leftAt } of nodes) expect(leftAt).not.toBeNull();
    const known = await test.hub.db.node.findMany({ select: { credentialHash: true } });
    const hashes = nodes.map(({ credentialHash }) => credentialHash);
    expect(hashes.filter((hash) => known.some(({ credentialHash }) => credentialHash === hash))).toEqual([]);
    expect(await mayDelete(tools)).toBe(false);
    expect((await tools.db.doubt.findFirst())?.listedAt).not.toBeNull();
  });

  it("goes on where it was cut off, and finds nothing new the second time", async () => {
    await makeHistory();
    const real = await rebuildFrom(store);
    expect(real.checkpoints).toBe(2);
    expect(await rebuild(tools, { profileName: "training" })).toMatchObject({ epochs: 0, checkpoints: 0, refused: 0 });
    await expect(rebuildFrom(store)).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(rebuild(tools, { profileName: "another" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("refuses hostile manifests one by one, names them, and takes the others", async () => {
    const { second } = await makeHistory();
    const { client, access } = await test.hub.stores.open(profileId);
    const at = { run, epoch: 2, step: 20, checkpointId: second.checkpointId, attempt: second.attempt };
    const { text } = await getObjectText(client, {
      bucket: access.bucket,
      key: manifestKey("team/", at),
      maxBytes: 1_000_000,
    });
    const good = JSON.parse(text) as Manifest;
    const fresh = () => ({ ...good, id: newId(), attempt: newAttempt() });
    const write = async (value: Manifest, content = JSON.stringify(value)) => {
      const { writerEpoch: epoch, step, id: checkpointId, attempt } = value;
      const key = manifestKey("team/", { run, epoch, step, checkpointId, attempt });
      await put(key, content);
      return key;
    };
    const [file] = good.files;
    const [extent] = file?.extents ?? [];
    if (file === undefined || extent === undefined) throw new Error("no file");
    const named = (value: Manifest, key: string): Manifest => ({
      ...value,
      files: [{ ...file, extents: [{ ...extent, key }] }],
    });
    const outside = fresh();
    const missing = fresh();
    const elsewhere = fresh();
    const climbing = fresh();
    const hostile = [
      // Names the objects of another attempt.
      await write(named(outside, keyOf(second, "model.safetensors"))),
      // Names a key that is no data key.
      await write(named(elsewhere, "team/manifests/llama/x.json")),
      // Names an object that is not there.
      await write(named(missing, keyOf({ ...second, attempt: missing.attempt }, "model.safetensors"))),
      // Would write outside of its folder.
      await write({ ...climbing, files: [{ ...file, path: "../../etc/passwd" as typeof file.path }] }),
      await write(fresh(), "not json"),
      await write(fresh(), JSON.stringify({ format: "tidemark.checkpoint" })),
      // Its key speaks of another checkpoint.
      await write(fresh(), text),
      await write({ ...fresh(), homes: [{ profileId, bucket: "another", prefix: "team/" }] }),
    ];
    await put("team/manifests/llama/e000002/strange.json", "{}");
    await put("team/manifests/..%2Fup/e000002/s000000000001-aaaaaaaa-aaaaaaaaaaaa.json", "{}");
    await put(epochClaimKey("team/", { run, epoch: 9 }), JSON.stringify({ format: "tidemark.epoch", version: 1 }));
    const found = await rebuildFrom(store);
    expect(found).toMatchObject({ checkpoints: 2, epochs: 2, refused: hostile.length + 3 });
    const refused = found.refusedKeys.map(({ key }) => key);
    for (const key of hostile) expect(refused).toContain(key);
    for (const { why } of found.refusedKeys) expect(why).not.toBe("");
    expect(await tools.db.checkpoint.count()).toBe(2);
    // A claim that cannot be read still counts as a number that was given out.
    expect(await tools.db.run.findFirst()).toMatchObject({ highestSeen: 9 });
    expect(filePath.safeParse("../../etc/passwd").success).toBe(false);
  });

  it("does not take a failed page for the end of a listing", async () => {
    await makeHistory();
    const open = tools.stores.open.bind(tools.stores);
    Object.assign(tools.stores, {
      open: async (id: string) => {
        const opened = await open(id);
        const send = opened.client.send.bind(opened.client);
        let pages = 0;
        Object.assign(opened.client, {
          send: async (command: { input: { Prefix?: string } }) => {
            const answer: object = await send(command as Parameters<typeof send>[0]);
            // The first page says that more follows; the next one never comes.
            if (command.input.Prefix !== `team/manifests/${run}/`) return answer;
            if (pages++ > 0) throw new Error("socket hang up");
            return { ...answer, IsTruncated: true, NextContinuationToken: "more" };
          },
        });
        return opened;
      },
    });
    await expect(rebuildFrom(store)).rejects.toThrow();
    expect((await tools.db.doubt.findFirst())?.listedAt).toBeNull();
    expect(await tools.db.run.findFirst()).toMatchObject({ highestSeen: null });
    expect(await mayDelete(tools)).toBe(false);
  });
});
