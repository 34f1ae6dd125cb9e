import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { manifestKey } from "#protocol/checkpoint/keys.ts";
import { runName } from "#protocol/base/names.ts";
import { createControlClient } from "#storage/s3/client.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { headObject, putObjectText } from "#storage/s3/objects.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { openStage, type Stage } from "../stage/open-stage.ts";
import {
  announce,
  enrolRogue,
  manifestOf,
  putOf,
  refusal,
  type RogueNode,
  send,
  signOne,
  type Staged,
} from "../stage/rogue-node.ts";
import { waitUntil } from "../stage/wait-until.ts";
import { writeCheckpoint } from "../stage/write-checkpoint.ts";

/**
 * The four parts of the fence (ARCHITECTURE.md), each attacked as a stranger's node could: against a real hub and a real
 * store, with signatures that were rightly given.
 */

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** The bucket as whoever holds its keys sees it. */
const bucket = () => {
  const { endpoint, accessKey, secretKey, bucket: name } = stage.store;
  const access = {
    endpoint,
    region: "us-east-1",
    bucket: name,
    addressing: "path",
    traits: traitsOf("minio"),
  } as const;
  return createControlClient({ access, credential: { accessKeyId: accessKey, secretAccessKey: secretKey } });
};
const etagAt = async (key: string) => (await headObject(bucket(), { bucket: stage.store.bucket, key })).etag;

const complete = async (run: string) => {
  const { checkpoints } = await stage.client.runs.get.query({ run: runName.parse(run) });
  return checkpoints.filter((one) => one.state === "complete");
};

async function listKeys(prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of listObjects(bucket(), { bucket: stage.store.bucket, prefix })) keys.push(key);
  return keys;
}

async function upload(rogue: RogueNode, staged: Staged) {
  const request = await signOne(rogue, putOf(staged));
  const { status, etag } = await send(request, staged.body);
  expect(status).toBe(200);
  return { request, etag };
}

test("a single PUT that is replayed changes nothing, before the commit or after it", async () => {
  const run = runName.parse("replayed");
  const rogue = await enrolRogue(stage, { name: "replayer" });
  const { epoch } = await rogue.node.claimEpoch.mutate({ run });
  const staged = await announce(rogue, { run, epoch, step: 1 });
  const { request, etag } = await upload(rogue, staged);
  const others = [staged.body, "x".repeat(staged.body.length), `${staged.body} and more`, ""];
  const replay = async () => {
    for (const body of others) {
      expect((await send(request, body)).status, `${body.length} bytes`).toBeGreaterThanOrEqual(400);
    }
    const bare = { ...request, headers: { ...request.headers } };
    delete bare.headers["if-none-match"];
    expect((await send(bare, staged.body)).status).toBe(403);
    expect(await etagAt(staged.key)).toBe(etag);
  };
  await replay();
  await rogue.node.commit.mutate({ manifest: manifestOf(stage, rogue, { staged, etag }) });
  await replay();
  expect(await refusal(signOne(rogue, putOf(staged)))).not.toBeNull();
});

test("a manifest that is forged is no checkpoint, whether it lies in the bucket or is submitted", async () => {
  const run = runName.parse("forged");
  const victim = await enrolRogue(stage, { name: "victim" });
  const { epoch } = await victim.node.claimEpoch.mutate({ run });
  const honest = await announce(victim, { run, epoch, step: 1 });
  const { etag } = await upload(victim, honest);
  await victim.node.commit.mutate({ manifest: manifestOf(stage, victim, { staged: honest, etag }) });

  const own = runName.parse("forgers-own");
  const forger = await enrolRogue(stage, { name: "forger" });
  const claim = await forger.node.claimEpoch.mutate({ run: own });
  const staged = await announce(forger, { run: own, epoch: claim.epoch, step: 9 });
  const mine = await upload(forger, staged);
  const manifest = manifestOf(stage, forger, { staged, etag: mine.etag });

  const at = { run, epoch, step: 9, checkpointId: staged.checkpointId, attempt: staged.attempt };
  const forged = manifestKey("", at);
  for (const key of [forged, `epochs/${run}/e000002.json`, honest.key, `${staged.key}/../../../../${forged}`]) {
    const put = putOf({ key, body: JSON.stringify(manifest) });
    expect(await refusal(signOne(forger, put)), key).toMatch(/^(NOT_THIS_NODES|BAD_INPUT)$/);
  }
  const request = await signOne(forger, putOf({ key: staged.key, body: "other" }));
  const moved = { ...request, url: request.url.replace(staged.key, forged) };
  expect((await send(moved, "other")).status).toBe(403);

  const [file] = manifest.files;
  const [extent] = file?.extents ?? [];
  if (file === undefined || extent === undefined) throw new Error("the manifest is empty");
  const naming = (key: string, of: string) => ({
    ...manifest,
    files: [{ ...file, extents: [{ ...extent, key, etag: of }] }],
  });
  expect(await refusal(forger.node.commit.mutate({ manifest: naming(honest.key, etag) }))).toBe("NOT_THIS_NODES");
  for (const changed of [
    { ...manifest, run },
    { ...manifest, id: honest.checkpointId },
    { ...manifest, node: { id: victim.nodeId, name: manifest.node.name } },
    naming(staged.key, etag),
  ]) {
    expect(await refusal(forger.node.commit.mutate({ manifest: changed }))).not.toBeNull();
  }

  // Even where somebody has the bucket's own keys.
  await putObjectText(bucket(), {
    bucket: stage.store.bucket,
    key: forged,
    text: JSON.stringify({ ...manifest, run }),
  });
  expect((await complete(run)).map(({ step, isNewest }) => ({ step, isNewest }))).toEqual([
    { step: 1, isNewest: true },
  ]);
  expect(await complete(own)).toEqual([]);
  const found = await victim.node.claimEpoch.mutate({ run });
  expect(found.newest).toMatchObject({ step: 1, checkpointId: honest.checkpointId });
});

test("an object that is swapped after the commit is refused by a restore, which leaves nothing at the target", async () => {
  const run = runName.parse("swapped");
  await stage.startNode({ name: "gpu-1", run });
  writeCheckpoint({ folder: stage.folderOf("gpu-1"), step: 5, modelBytes: 4 << 20, optimizerBytes: 0, loss: 1 });
  const [checkpoint] = await waitUntil("the checkpoint is complete", async () => {
    const found = await complete(run);
    return found.length > 0 && found;
  });
  const { files } = await stage.client.checkpoints.get.query({ id: checkpoint?.id ?? "" });
  const largest = files.toSorted((one, other) => other.sizeBytes - one.sizeBytes)[0];
  const prefix = `runs/${run}/`;
  const keys = await listKeys(prefix);
  const key = keys.find((one) => one.endsWith(largest?.path ?? "nothing"));
  if (key === undefined || largest === undefined) throw new Error(`no such object among ${keys.join(", ")}`);
  await putObjectText(bucket(), {
    bucket: stage.store.bucket,
    key,
    text: randomBytes(largest.sizeBytes)
      .toString("latin1")
      .slice(0, largest.sizeBytes)
      .replaceAll(/[^ -~]/g, "x"),
  });

  await stage.startNode({ name: "gpu-2", run: runName.parse("elsewhere") });
  const target = await waitUntil("gpu-2 is online", async () =>
    (await stage.client.nodes.list.query()).find((one) => one.name === "gpu-2" && one.state === "online"),
  );
  const targetPath = join(stage.dir, "restored", "checkpoint-5");
  const options = { requestId: crypto.randomUUID(), checkpointId: checkpoint?.id ?? "", nodeId: target.id, targetPath };
  const { transferId } = await stage.client.restores.create.mutate(options);
  const filter = { nodeId: target.id, run: null, states: [], cursor: null, limit: 50 };
  const ended = await waitUntil("the restore ends", async () => {
    const { rows } = await stage.client.transfers.list.query(filter);
    return rows.find((one) => one.id === transferId && (one.state === "failed" || one.state === "done"));
  });
  expect(ended).toMatchObject({ state: "failed", fault: { code: "OBJECT_CHANGED" } });
  expect(existsSync(targetPath)).toBe(false);
});

test("a node that was replaced commits nothing and changes nothing, whatever was signed for it before", async () => {
  const run = runName.parse("taken-over");
  const zombie = await enrolRogue(stage, { name: "zombie" });
  const first = await zombie.node.claimEpoch.mutate({ run });
  const safe = await announce(zombie, { run, epoch: first.epoch, step: 1 });
  const before = await upload(zombie, safe);
  await zombie.node.commit.mutate({ manifest: manifestOf(stage, zombie, { staged: safe, etag: before.etag }) });
  const late = await announce(zombie, { run, epoch: first.epoch, step: 50 });
  const kept = await signOne(zombie, putOf(late));

  const successor = await enrolRogue(stage, { name: "successor" });
  await stage.client.runs.handOver.mutate({ run, nodeId: successor.nodeId });
  const second = await successor.node.claimEpoch.mutate({ run });
  expect(second.epoch).toBeGreaterThan(first.epoch);
  const next = await announce(successor, { run, epoch: second.epoch, step: 2, parent: second.parent });
  const mine = await upload(successor, next);
  await successor.node.commit.mutate({ manifest: manifestOf(stage, successor, { staged: next, etag: mine.etag }) });

  // The store knows nothing of epochs: the signature still stores bytes, under a key nobody will read.
  const wasted = await send(kept, late.body);
  expect(wasted.status).toBe(200);
  const manifest = manifestOf(stage, zombie, { staged: late, etag: wasted.etag });
  expect(await refusal(zombie.node.commit.mutate({ manifest }))).toBe("EPOCH_OVER");
  expect(await refusal(signOne(zombie, putOf(late)))).toBe("EPOCH_OVER");
  expect(await refusal(announce(zombie, { run, epoch: first.epoch, step: 51 }))).toBe("EPOCH_OVER");
  expect(await refusal(announce(zombie, { run, epoch: second.epoch, step: 51 }))).toBe("EPOCH_OVER");
  expect(
    await refusal(zombie.node.commit.mutate({ manifest: { ...manifest, writerEpoch: second.epoch } })),
  ).not.toBeNull();

  expect((await complete(run)).map(({ step, isNewest }) => [step, isNewest])).toEqual([
    [2, true],
    [1, false],
  ]);
  expect(await etagAt(next.key)).toBe(mine.etag);
  expect(await etagAt(safe.key)).toBe(before.etag);
});
