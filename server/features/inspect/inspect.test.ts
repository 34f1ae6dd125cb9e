import { zstdCompressSync } from "node:zlib";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { packPath } from "#protocol/checkpoint/packing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { headObject } from "#storage/s3/objects.ts";
import { readArchive } from "#storage/testing/real-files.ts";
import {
  type Staged,
  type StagedFile,
  announce,
  keyOf,
  manifestOf,
  run,
  upload,
} from "#server/testing/stage-checkpoint.ts";
import { addPair, clearBucket } from "#server/testing/test-bucket.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs, openTestHub, openTestStore, type TestHub, type TestStore } from "#server/testing/open-test-hub.ts";
import { recogniseBucket } from "#server/core/checkpoints/external/recognise-bucket.ts";

let store: TestStore;
let pair: Awaited<ReturnType<typeof addPair>> & { test: TestHub };
let step = 0;
beforeAll(async () => {
  store = await openTestStore();
  const test = await openTestHub();
  pair = { test, ...(await addPair(test.hub, store)) };
  await callAs(pair.test.hub, pair.node.caller).node.claimEpoch({ run });
});
beforeEach(() => clearBucket(pair.test.hub, pair.profileId));
afterAll(async () => {
  await pair.test.close();
  await store.close();
});

const inspect = () => callAs(pair.test.hub, "operator").inspect;

/** A safetensors file that is also text: every number in it is below 128. */
function safetensors(name: string, tensors: Record<string, string>): StagedFile {
  let at = 0;
  const header: Record<string, unknown> = {};
  for (const [tensor, data] of Object.entries(tensors)) {
    header[tensor] = { dtype: "U8", shape: [data.length], data_offsets: [at, at + data.length] };
    at += data.length;
  }
  const json = JSON.stringify(header).padEnd(1024);
  return { path: name, text: `\0\x04\0\0\0\0\0\0${json}${Object.values(tensors).join("")}` };
}

const LOG = JSON.stringify({
  global_step: 2,
  log_history: [
    { step: 1, loss: 2.5 },
    { step: 2, loss: 1.5, learning_rate: 0.1 },
  ],
});

async function makeComplete(files: StagedFile[]): Promise<Staged> {
  const { test, node } = pair;
  const staged = await announce(test.hub, node, { epoch: 1, step: ++step, files });
  const etags = await upload(test.hub, node, staged);
  await callAs(test.hub, node.caller).node.commit({ manifest: manifestOf(test.hub, node, { staged, etags }) });
  return staged;
}

async function put(key: string, body: string | Buffer): Promise<void> {
  const { client } = await pair.test.hub.stores.open(pair.profileId);
  await client.send(new PutObjectCommand({ Bucket: "training", Key: key, Body: body }));
}

describe("a checkpoint", () => {
  it("is summed up over its files, and each file can be looked at by itself", async () => {
    const { checkpointId } = await makeComplete([
      safetensors("model.safetensors", { "layers.0.w": "aaaa", "layers.1.w": "bb" }),
      { path: "trainer_state.json", text: LOG },
      { path: "broken.safetensors", text: "short" },
    ]);
    const whole = await inspect().checkpoint({ checkpointId });
    expect(whole).toMatchObject({
      parameters: 6,
      weights: 6,
      tensorBytes: 6,
      filesOmitted: 0,
      framework: "transformers",
    });
    expect(whole.curve?.points.map(({ loss }) => loss)).toEqual([2.5, 1.5]);
    expect(whole.files.map(({ path, tensors, fault }) => [path, tensors, fault?.code ?? null])).toEqual([
      ["model.safetensors", 2, null],
      ["trainer_state.json", 0, null],
      ["broken.safetensors", 0, "MALFORMED"],
    ]);
    const one = await inspect().file({ place: { checkpointId, path: "model.safetensors" }, tensors: 1 });
    expect(one).toMatchObject({
      format: "safetensors",
      tensorsOmitted: 1,
      tensors: [{ name: "layers.0.w", offset: 1032, sizeBytes: 4 }],
    });
    expect(await inspect().curve({ checkpointId })).toMatchObject({ globalStep: 2 });
    await expect(inspect().file({ place: { checkpointId, path: "none" } })).rejects.toMatchObject({
      cause: { code: "NOT_FOUND" },
    });
  });

  it("whose files lie compressed in one pack is looked into file by file", async () => {
    const { test, node } = pair;
    const texts = [LOG, JSON.stringify({ note: "the same words again ".repeat(200) })];
    const files = texts.map((text, index) => ({ path: index === 0 ? "trainer_state.json" : "notes.json", text }));
    const staged = await announce(test.hub, node, { epoch: 1, step: ++step, files });
    const frames = texts.map((text) => zstdCompressSync(text));
    const key = keyOf(staged, packPath(1));
    await put(key, Buffer.concat(frames));
    const { client } = await test.hub.stores.open(pair.profileId);
    const { etag } = await headObject(client, { bucket: "training", key });
    const manifest = manifestOf(test.hub, node, { staged, etags: new Map() });
    const packed = manifest.files.map((file, index) => {
      const stored = { length: frames[index]?.length ?? 0, crc32: crc32Hex(frames[index] ?? Buffer.alloc(0)) };
      const offset = index === 0 ? 0 : (frames[0]?.length ?? 0);
      return { ...file, extents: file.extents.map((extent) => ({ ...extent, key, offset, etag, stored })) };
    });
    const submitted: Manifest = { ...manifest, transform: { kind: "zstd" }, files: packed };
    await callAs(test.hub, node.caller).node.commit({ manifest: submitted });
    const { checkpointId } = staged;
    const notes = await inspect().file({ place: { checkpointId, path: "notes.json" } });
    expect(notes).toMatchObject({ format: "json", fault: null, sizeBytes: texts[1]?.length });
    expect(await inspect().curve({ checkpointId })).toMatchObject({ globalStep: 2 });
  });

  it("that is not complete is not looked at", async () => {
    const { checkpointId } = await announce(pair.test.hub, pair.node, { epoch: 1, step: ++step });
    await expect(inspect().checkpoint({ checkpointId })).rejects.toMatchObject({
      cause: { code: "CHECKPOINT_INCOMPLETE" },
    });
  });

  it("whose object was replaced is named as changed, and the other files are read", async () => {
    const staged = await makeComplete([
      safetensors("model.safetensors", { w: "aaaa" }),
      { path: "trainer_state.json", text: LOG },
    ]);
    const { checkpointId, attempt } = staged;
    await put(`team/runs/${run}/e000001/${attempt}/model.safetensors`, "another object");
    const whole = await inspect().checkpoint({ checkpointId });
    expect(whole.files.map(({ path, fault }) => [path, fault?.code ?? null])).toEqual([
      ["model.safetensors", "OBJECT_CHANGED"],
      ["trainer_state.json", null],
    ]);
  });

  it("is compared with another by its tensors and its recorded checksums, without reading them", async () => {
    const state = { path: "notes.txt", text: "n" };
    const first = await makeComplete([
      safetensors("a.safetensors", { w: "aaaa", gone: "x" }),
      safetensors("same.safetensors", { s: "ss" }),
      state,
    ]);
    const second = await makeComplete([
      safetensors("a.safetensors", { w: "bbbb", grown: "xyz" }),
      safetensors("same.safetensors", { s: "ss" }),
      state,
    ]);
    const compared = await inspect().compare({
      from: { checkpointId: first.checkpointId },
      to: { checkpointId: second.checkpointId },
    });
    expect(compared).toMatchObject({
      removed: [{ name: "gone" }],
      added: [{ name: "grown" }],
      changed: [],
      // One part holds the whole file: that it differs does not say which of its tensors does.
      unknown: 1,
      same: 1,
      differs: [],
    });
  });
});

describe("an object of a bucket", () => {
  it("is looked at by ranges of one version, and once only as long as it stays", async () => {
    const real = readArchive("inspect-formats").get("torch/varied.pt") ?? Buffer.alloc(0);
    await put("foreign/model.pt", real);
    const place = { profileId: pair.profileId, key: "foreign/model.pt" };
    const found = await inspect().file({ place });
    expect(found).toMatchObject({ format: "torch-zip", sizeBytes: real.length, fault: null });
    expect(found.tensors.length).toBe(28);
    await put("foreign/model.pt", "now a text");
    expect(await inspect().file({ place })).toMatchObject({ format: "text", preview: "now a text" });
    await expect(inspect().file({ place: { ...place, etag: '"0"' } })).rejects.toMatchObject({
      cause: { code: "OBJECT_CHANGED" },
    });
    await expect(inspect().file({ place: { ...place, key: "none" } })).rejects.toMatchObject({
      cause: { code: "NO_SUCH_KEY" },
    });
  });
});

it("an object outside checkpoints is not for viewers", async () => {
  await put("secrets.txt", "a word");
  const place = { profileId: pair.profileId, key: "secrets.txt" };
  const viewer = callAs(pair.test.hub, "viewer").inspect;
  const refused = fault("ROLE_REQUIRED");
  await expect(viewer.file({ place })).rejects.toEqual(refused);
  await expect(viewer.compare({ from: place, to: place })).rejects.toEqual(refused);
  await expect(viewer.curve(place)).rejects.toEqual(refused);
  expect(await callAs(pair.test.hub, "operator").inspect.file({ place })).toMatchObject({ preview: "a word" });
});

describe("checkpoints of other tools", () => {
  it("are recognised under a prefix, what decides is read, and ours are left out", async () => {
    await makeComplete([{ path: "model.safetensors", text: "w" }]);
    for (const [path, bytes] of readArchive("real-checkpoints"))
      if (/^torch-dcp-2-ranks|^transformers-trainer\//.test(path)) await put(`old/${path}`, bytes);
    await put("old/m/iter_0000100/mp_rank_00/model_optim_rng.pt", "x");
    await put("old/m/latest_checkpointed_iteration.txt", "90");
    const { profileId } = pair;
    const page = await inspect().recognise({ profileId, prefix: "", cursor: null });
    expect(page).toMatchObject({ cursor: null, omitted: 0, warnings: [], own: 2 });
    expect(
      page.runs.flatMap(({ steps }) => steps.map(({ place, verdict, reason }) => [place, verdict, reason])),
    ).toEqual([
      ["old/m/iter_0000100/", "incomplete", expect.stringContaining("names step 90")],
      ["old/torch-dcp-2-ranks/step_2/", "assumed complete", "every file that its .metadata lists is there"],
      ["old/transformers-trainer/checkpoint-4/", "assumed complete", expect.stringContaining("trainer_state.json")],
    ]);
  });

  it("are never cut in two by the end of a page", async () => {
    const { profileId } = pair;
    const keys = Array.from({ length: 40 }, (_, step) =>
      Array.from(
        { length: 26 },
        (_, file) =>
          `r/checkpoint-${step}/${file === 0 ? "trainer_state.json" : `model-${String(file).padStart(5, "0")}-of-00025.safetensors`}`,
      ),
    ).flat();
    for (let at = 0; at < keys.length; at += 50) await Promise.all(keys.slice(at, at + 50).map((key) => put(key, "x")));
    const seen: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const page: Awaited<ReturnType<ReturnType<typeof inspect>["recognise"]>> = await inspect().recognise({
        profileId,
        prefix: "r/",
        cursor,
        limit: 1_000,
      });
      for (const { steps } of page.runs)
        for (const { place, verdict, files } of steps) seen.push(`${place} ${verdict} ${files}`);
      cursor = page.cursor;
      pages++;
    } while (cursor !== null);
    expect(pages).toBe(2);
    expect(seen.sort()).toEqual(
      Array.from({ length: 40 }, (_, step) => `r/checkpoint-${step}/ assumed complete 26`).sort(),
    );
  });

  it("are not looked for any more when nobody waits", async () => {
    await put("r/checkpoint-1/trainer_state.json", "{}");
    const gone = new AbortController();
    gone.abort();
    const caller = callAs(pair.test.hub, "operator").inspect;
    await expect(
      recogniseBucket(
        pair.test.hub,
        { profileId: pair.profileId, prefix: "", cursor: null, limit: 1_000 },
        gone.signal,
      ),
    ).rejects.toMatchObject({ code: "CANCELLED" });
    expect((await caller.recognise({ profileId: pair.profileId, prefix: "", cursor: null })).objects).toBe(1);
  });
});

describe("an account that has much looked into", () => {
  it("delays nobody but itself, and is told so when it asks for more", async () => {
    const { hub } = pair.test;
    const { checkpointId } = await makeComplete([{ path: "note.txt", text: "words" }]);
    const { promise: until, resolve: end } = Promise.withResolvers<undefined>();
    const held = Array.from({ length: 22 }, () => hub.inspecting.run("id-viewer", () => until));
    await expect(callAs(hub, "viewer").inspect.checkpoint({ checkpointId })).rejects.toEqual(fault("TOO_MANY_TRIES"));
    const place = { checkpointId, path: "note.txt" };
    for (const look of [
      () => callAs(hub, "viewer").inspect.file({ place }),
      () => callAs(hub, "viewer").inspect.compare({ from: place, to: place }),
      () => callAs(hub, "viewer").inspect.curve(place),
    ])
      await expect(look()).rejects.toEqual(fault("TOO_MANY_TRIES"));
    expect((await callAs(hub, "operator").inspect.checkpoint({ checkpointId })).files).toHaveLength(1);
    end(undefined);
    await Promise.all(held);
    expect((await callAs(hub, "viewer").inspect.checkpoint({ checkpointId })).files).toHaveLength(1);
  });
});
