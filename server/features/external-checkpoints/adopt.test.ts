import { PutObjectCommand } from "@aws-sdk/client-s3";
import { describe, expect, it } from "vitest";
import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { runName } from "#protocol/base/names.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import type { Verdict } from "#protocol/recognition/recognise.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { deleteObject } from "#storage/s3/objects.ts";
import { readArchive } from "#storage/testing/real-files.ts";
import { node, other, pairForEach, profileId, test } from "#server/testing/pair-for-each.ts";
import { run as ownRun, makeSafe } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { removeCheckpoint } from "../retention/remove-checkpoint.ts";
import { takeRecord } from "#server/core/retention/take-record.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { newId } from "#server/platform/random-id.ts";
import { isAdoptedRow, WRITTEN_BY_NODES } from "#server/core/runs/is-adopted.ts";

const real = readArchive("real-checkpoints");
const formats = readArchive("inspect-formats");
const orbax = readArchive("orbax-checkpoints");
const run = runName.parse("foreign");
pairForEach();

async function put(key: string, body: Buffer | string): Promise<void> {
  const { client } = await test.hub.stores.open(profileId);
  await client.send(new PutObjectCommand({ Bucket: "training", Key: key, Body: body }));
}

/** Copies a folder of the fixtures as a tool does that knows nothing of checkpoints. */
async function copy(files: ReadonlyMap<string, Buffer>, from: string, to: string): Promise<string[]> {
  const keys: string[] = [];
  for (const [path, bytes] of files) {
    if (!path.startsWith(from)) continue;
    keys.push(to + path.slice(from.length));
    await put(to + path.slice(from.length), bytes);
  }
  return keys;
}

const hub = () => callAs(test.hub, "operator");
const recognise = () => hub().inspect.recognise({ profileId, prefix: "", cursor: null, limit: 20_000 });
const adopt = (
  place: string,
  more: Partial<{ step: number; verdict: Verdict; kind: "folder" | "file"; run: string }> = {},
) =>
  hub().adoptions.adopt({
    profileId,
    run,
    place,
    kind: "folder",
    step: 4,
    verdict: "assumed complete",
    ...more,
  });
const viewOf = (id: string) => callAs(test.hub, "viewer").checkpoints.get({ id });
const asNode = (node: TestNode) => callAs(test.hub, node.caller).node;

const TRAINER = "transformers-trainer/checkpoint-4/";
async function adoptTrainer() {
  const keys = await copy(real, TRAINER, "old/exp/checkpoint-4/");
  return { keys, ...(await adopt("old/exp/checkpoint-4/")) };
}
async function assign(checkpointId: string, node: TestNode) {
  return hub().restores.create({ requestId: newId(), checkpointId, nodeId: node.nodeId, targetPath: "/out/c" });
}
const getOf = (manifest: StoredManifest): Operation[] =>
  manifest.files.flatMap(({ extents }) =>
    extents.map(({ key, offset, length, etag }): Operation => ({ op: "get", key, offset, length, etag })),
  );

describe("what another tool left", () => {
  it.each([
    { by: "transformers", from: TRAINER, place: "old/exp/checkpoint-4/", step: 4 },
    { by: "sharded transformers", from: "transformers-shards/step_2/", place: "shards/step_2/", step: 2 },
    { by: "PyTorch DCP of two ranks", from: "torch-dcp-2-ranks/step_2/", place: "dcp/step_2/", step: 2 },
  ])("by $by becomes a checkpoint, file by file", async ({ from, place, step }) => {
    const keys = await copy(real, from, place);
    const found = await recognise();
    const [shown] = found.runs.flatMap(({ steps }) => steps);
    expect(shown).toMatchObject({ place, step });
    const { checkpointId } = await adopt(place, { step, verdict: shown?.verdict ?? "incomplete" });
    const view = await viewOf(checkpointId);
    expect(view).toMatchObject({
      state: "complete",
      run,
      step,
      fileCount: keys.length,
      writerEpoch: 0,
      nodeName: "another tool",
    });
    expect(view.files.map((file) => place + file.path).sort()).toEqual(keys.sort());
    expect(view.adoption).toMatchObject({ place, verdict: shown?.verdict, summed: null });
    expect((await recognise()).adopted).toEqual({ [place]: checkpointId });
  });

  it("as one file, or as a model with what lies beside it, becomes one too", async () => {
    await copy(real, "lightning/", "lit/");
    const one = await adopt("lit/epoch=0-step=4.ckpt", { kind: "file" });
    expect((await viewOf(one.checkpointId)).files.map(({ path }) => path)).toEqual(["epoch=0-step=4.ckpt"]);
    const keys = await copy(formats, "shards/model/", "models/llama/");
    const model = await adopt("models/llama/", { step: 0, run: "exported" });
    expect((await viewOf(model.checkpointId)).fileCount).toBe(keys.length);
  });

  it.each([
    { what: "a step of its CheckpointManager", from: "manager/6/", place: "runs/jax/6/", shown: 6 },
    { what: "a step that was renamed, by an older version", from: "older-manager/4/", place: "runs/old/4/", shown: 4 },
    { what: "a model at no step, in folders of arrays", from: "zarr/step_2/", place: "models/final/", shown: null },
  ])("by Orbax, $what, becomes one with every file of it", async ({ from, place, shown }) => {
    const keys = await copy(orbax, from, place);
    const [found] = (await recognise()).runs.flatMap(({ steps }) => steps);
    expect(found).toMatchObject({ place, step: shown, framework: "orbax", verdict: "assumed complete" });
    const { checkpointId } = await adopt(place, { step: shown ?? 0 });
    expect((await viewOf(checkpointId)).files.map((file) => place + file.path).sort()).toEqual(keys.sort());
    const inside = await callAs(test.hub, "viewer").inspect.checkpoint({ checkpointId });
    expect(inside).toMatchObject({ framework: "orbax", warnings: [] });
    const kernel = inside.files.find(({ path }) => path.endsWith("_METADATA") && !path.includes("CHECKPOINT"));
    expect(kernel).toMatchObject({ format: "orbax", fault: null });
    expect(inside.dtypes.map(({ dtype }) => dtype)).toEqual(expect.arrayContaining(["F32", "BF16"]));
  });

  it("by Orbax is refused while a file is missing that its index names, and when it was killed before its commit", async () => {
    await copy(orbax, "manager/6/", "runs/jax/6/");
    const data = [...orbax.keys()].find((path) => /^manager\/6\/state\/d\/[0-9a-f]{32}$/.test(path)) ?? "";
    const { client } = await test.hub.stores.open(profileId);
    await deleteObject(client, { bucket: "training", key: data.replace("manager/", "runs/jax/") });
    await expect(adopt("runs/jax/6/", { step: 6 })).rejects.toMatchObject({
      message: expect.stringContaining("is missing, which its index names"),
    });
    await copy(orbax, "commit-file-killed-late/3/", "runs/killed/3/");
    await expect(adopt("runs/killed/3/", { step: 3 })).rejects.toEqual(fault("CHECKPOINT_INCOMPLETE"));
  });

  it("is refused while a shard is missing, or when it is not what was shown", async () => {
    await copy(real, "transformers-shards/step_2/", "shards/step_2/");
    await expect(adopt("shards/step_2/", { verdict: "unknown" })).rejects.toEqual(fault("CONFLICT"));
    const { client } = await test.hub.stores.open(profileId);
    await deleteObject(client, { bucket: "training", key: "shards/step_2/model-00003-of-00004.safetensors" });
    await expect(adopt("shards/step_2/")).rejects.toMatchObject({
      message: expect.stringContaining("missing shard 3 of 4"),
    });
    await expect(adopt("nothing/here/")).rejects.toEqual(fault("NO_SUCH_KEY"));
  });

  it("is the same checkpoint when it is adopted twice, also at the same moment, and no other step's", async () => {
    await copy(real, TRAINER, "old/exp/checkpoint-4/");
    const answers = await Promise.all([adopt("old/exp/checkpoint-4/"), adopt("old/exp/checkpoint-4/")]);
    expect(new Set(answers.map(({ checkpointId }) => checkpointId)).size).toBe(1);
    await expect(adopt("old/exp/checkpoint-4/", { step: 5 })).rejects.toEqual(fault("CONFLICT"));
    await copy(real, TRAINER, "other/checkpoint-4/");
    await expect(adopt("other/checkpoint-4/")).rejects.toEqual(fault("CONFLICT"));
  });

  it("cannot be what Tidemark wrote itself, nor a name that is no file's", async () => {
    await asNode(node).claimEpoch({ run: ownRun });
    await makeSafe(test.hub, node, { epoch: 1, step: 10 });
    const [key = ""] = await keysOf(test.hub, profileId, "team/runs/");
    const place = key.slice(0, key.lastIndexOf("/") + 1);
    await expect(adopt(place)).rejects.toEqual(fault("BAD_INPUT"));
    await copy(real, TRAINER, "bad/checkpoint-4/");
    await put("bad/checkpoint-4/a\u0007b", "a bell");
    await expect(adopt("bad/checkpoint-4/")).rejects.toMatchObject({
      message: expect.stringContaining("control characters"),
    });
    expect(await test.hub.db.adoption.count()).toBe(0);
  });
});

describe("a checkpoint of so many files that its manifest is checked in a thread", () => {
  const place = "many/checkpoint-4/";
  const nameOf = (index: number) => `${"deep/".repeat(20)}part-${index}.bin`;

  it("is registered whole, and one name that is no file's is named", async () => {
    await copy(real, TRAINER, place);
    const parts = Array.from({ length: 1_000 }, (_, index) => index);
    await forEachOf(parts, 16, (index) => put(place + nameOf(index), "x"));
    await put(`${place}a\u0007b`, "a bell");
    await expect(adopt(place)).rejects.toMatchObject({
      message: expect.stringMatching(/^a\\u0007b: .*control characters/),
    });
    const { client, access } = await test.hub.stores.open(profileId);
    await deleteObject(client, { bucket: access.bucket, key: `${place}a\u0007b` });
    const view = await viewOf((await adopt(place)).checkpointId);
    expect(view.fileCount).toBeGreaterThan(parts.length);
    expect(view.files.find(({ path }) => path === nameOf(0))?.sizeBytes).toBe(1);
  });
});

describe("an adopted checkpoint", () => {
  it("is read by the node it is assigned to, and nothing of it is ever signed for writing", async () => {
    const { checkpointId, keys } = await adoptTrainer();
    await put("old/exp/secret.txt", "not of the checkpoint");
    const read = () => asNode(node).readCheckpoint({ checkpointId });
    await expect(read()).rejects.toEqual(fault("NOT_THIS_NODES"));
    await assign(checkpointId, node);
    const { manifest } = await read();
    const operations = getOf(manifest);
    const { requests } = await asNode(node).sign({ operations });
    for (const [index, { url, headers }] of requests.entries()) {
      const range = operations[index];
      if (range?.op !== "get") throw new Error("no get");
      const end = range.offset + range.length - 1;
      const answer = await fetch(url, { headers: { ...headers, range: `bytes=${range.offset}-${end}` } });
      const key = range.key.replace("old/exp/checkpoint-4/", TRAINER);
      expect(Buffer.from(await answer.arrayBuffer()).equals(real.get(key) ?? Buffer.alloc(0))).toBe(true);
    }
    await expect(asNode(other).sign({ operations })).rejects.toEqual(fault("NOT_THIS_NODES"));
    const [key = ""] = keys;
    const refused: Operation[] = [
      { op: "get", key: "old/exp/secret.txt", offset: 0, length: 1, etag: null },
      { op: "put", key, sizeBytes: 1, crc32: "00000000", nonce: "n" },
      { op: "create", key, nonce: "n" },
      { op: "delete", key },
    ];
    for (const operation of refused)
      await expect(asNode(node).sign({ operations: [operation] }), operation.op).rejects.toEqual(
        fault("NOT_THIS_NODES"),
      );
  });

  it("is what a new node goes on from, until the run has written something itself", async () => {
    const { checkpointId } = await adoptTrainer();
    const claim = await asNode(node).claimEpoch({ run });
    expect(claim).toMatchObject({ epoch: 1, parent: { epoch: 0, step: 4 }, newest: { checkpointId, writerEpoch: 0 } });
    expect((await asNode(node).findCheckpoint({ run }))?.checkpointId).toBe(checkpointId);
  });

  it("of weights alone is not what a run goes on from: the step before it is, also after a rebuild", async () => {
    const { checkpointId } = await adoptTrainer();
    const place = "old/exp/checkpoint-8/";
    for (const key of await copy(real, TRAINER, place)) {
      if (!key.includes("optimizer")) continue;
      const { client } = await test.hub.stores.open(profileId);
      await deleteObject(client, { bucket: "training", key });
    }
    const shown = (await recognise()).runs.flatMap(({ steps }) => steps).find((step) => step.place === place);
    expect(shown).toMatchObject({ verdict: "assumed complete", reason: expect.stringMatching(/^weights only: /) });
    await adopt(place, { step: 8 });
    const newest = async () => (await asNode(node).findCheckpoint({ run }))?.checkpointId;
    await asNode(node).claimEpoch({ run });
    expect(await newest()).toBe(checkpointId);
    const { db } = test.hub;
    await db.checkpoint.deleteMany();
    await db.run.update({ where: { name: run }, data: { highestSeen: null } });
    await asNode(node).claimEpoch({ run });
    expect(await newest()).toBe(checkpointId);
    expect(await db.checkpoint.findMany({ select: { step: true, role: true }, orderBy: { step: "asc" } })).toEqual([
      { step: 4n, role: null },
      { step: 8n, role: "final-model" },
    ]);
  });

  it("takes the checksums of the first restore, and holds later ones to them until they are forgotten", async () => {
    const { checkpointId } = await adoptTrainer();
    await assign(checkpointId, node);
    await assign(checkpointId, other);
    const { manifest } = await asNode(node).readCheckpoint({ checkpointId });
    expect(manifest.files.flatMap(({ extents }) => extents.map(({ crc32 }) => crc32))).toEqual(
      manifest.files.map(() => null),
    );
    const sums = manifest.files.map(({ path }) => [crc32Hex(real.get(TRAINER + path) ?? Buffer.alloc(0))]);
    await expect(asNode(node).tellSums({ checkpointId, sums: [["00000000"]] })).rejects.toEqual(fault("BAD_INPUT"));
    await asNode(node).tellSums({ checkpointId, sums });
    await asNode(other).tellSums({ checkpointId, sums: sums.map(() => ["00000000"]) });
    const after = await asNode(other).readCheckpoint({ checkpointId });
    expect(after.manifest.files.map(({ extents }) => extents[0]?.crc32)).toEqual(sums.map(([sum]) => sum));
    expect((await viewOf(checkpointId)).adoption?.summed).toMatchObject({ files: sums.length });
    expect((await viewOf(checkpointId)).files[0]?.crc32).toBe(sums[0]?.[0]);
    await hub().adoptions.forgetSums({ id: checkpointId });
    expect((await viewOf(checkpointId)).adoption?.summed).toBeNull();
    expect((await viewOf(checkpointId)).files[0]?.crc32).toBeNull();
  });

  it("takes no checksums from a node that it is not assigned to", async () => {
    const { checkpointId, keys } = await adoptTrainer();
    const sums = keys.map(() => ["00000000"]);
    await expect(asNode(node).tellSums({ checkpointId, sums })).rejects.toEqual(fault("NOT_THIS_NODES"));
  });

  it("can be looked into and compared, as far as its files say", async () => {
    const { checkpointId } = await adoptTrainer();
    const whole = await callAs(test.hub, "viewer").inspect.checkpoint({ checkpointId });
    expect(whole).toMatchObject({ framework: "transformers", files: expect.any(Array) });
    expect(whole.weights).toBeGreaterThan(0);
    await copy(real, TRAINER, "copy/checkpoint-5/");
    const again = await adopt("copy/checkpoint-5/", { step: 5 });
    const compared = await callAs(test.hub, "viewer").inspect.compare({
      from: { checkpointId },
      to: { checkpointId: again.checkpointId },
    });
    // Nobody has read either: only what the files say of themselves is known.
    expect(compared).toMatchObject({ added: [], removed: [], changed: [], files: { same: 0, changed: [] } });
    expect(compared.files?.unknown).toBe(whole.files.length);
  });

  it("is in no list of the fleet, and no list of what may be emptied", async () => {
    const { checkpointId } = await adoptTrainer();
    await test.restart();
    expect((await callAs(test.hub, "viewer").nodes.list()).map(({ name }) => name).sort()).toEqual(["gpu-1", "gpu-2"]);
    const row = await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id: checkpointId } });
    expect(isAdoptedRow(row)).toBe(true);
    expect(await test.hub.db.checkpoint.count({ where: WRITTEN_BY_NODES })).toBe(0);
    const moved = callAs(test.hub, "operator").checkpoints.trash({ id: checkpointId });
    await expect(moved).rejects.toThrow(fault("CHECKPOINT_KEPT"));
    // Whatever an object in the bucket says of it.
    const word = { kind: "trash" as const, until: 1, why: "elsewhere" };
    const of = { format: "tidemark.keeping" as const, version: 1 as const, id: newId(), run, checkpointId };
    const record = { ...of, at: 1, by: "hub", ends: [], word };
    await test.hub.db.$transaction((tx) => takeRecord(tx, record, { key: "elsewhere" }));
    expect(await viewOf(checkpointId)).toMatchObject({ state: "complete" });
    expect(await removeCheckpoint(test.hub, row)).toMatchObject({
      started: false,
      fault: { code: "CHECKPOINT_KEPT" },
    });
  });

  it("is there again after a rebuild from the bucket", async () => {
    const { checkpointId } = await adoptTrainer();
    const { db } = test.hub;
    await db.checkpoint.deleteMany();
    await db.run.update({ where: { name: run }, data: { highestSeen: null } });
    await asNode(node).claimEpoch({ run });
    expect(await viewOf(checkpointId)).toMatchObject({
      state: "complete",
      adoption: { place: "old/exp/checkpoint-4/" },
    });
  });

  it("is released without touching what is not ours, unless its run goes on from it", async () => {
    const { checkpointId, keys } = await adoptTrainer();
    expect(await keysOf(test.hub, profileId, "team/manifests/")).toHaveLength(1);
    await asNode(node).claimEpoch({ run });
    await expect(hub().adoptions.release({ id: checkpointId })).rejects.toEqual(fault("IN_USE"));
    await copy(real, TRAINER, "copy/checkpoint-4/");
    const again = await adopt("copy/checkpoint-4/", { run: "second" });
    // A restore that waits for a node to be back has sent nothing yet.
    test.advance(60_000);
    await markSilentNodes(test.hub);
    const { transferId } = await assign(again.checkpointId, node);
    expect(await test.hub.db.command.count()).toBe(0);
    await expect(hub().adoptions.release({ id: again.checkpointId })).rejects.toEqual(fault("IN_USE"));
    await hub().transfers.act({ requestId: newId(), transferId, action: "cancel" });
    await hub().adoptions.release({ id: again.checkpointId });
    await expect(viewOf(again.checkpointId)).rejects.toEqual(fault("NOT_FOUND"));
    expect(await keysOf(test.hub, profileId, "copy/")).toHaveLength(keys.length);
    expect(await keysOf(test.hub, profileId, "team/manifests/second/")).toEqual([]);
  });
});
