import {
  AbortMultipartUploadCommand,
  GetBucketVersioningCommand,
  PutBucketVersioningCommand,
} from "@aws-sdk/client-s3";
import { describe, expect, it } from "vitest";
import { manifest } from "#protocol/checkpoint/checkpoint.ts";
import { attemptPrefix } from "#protocol/checkpoint/keys.ts";
import { attemptId, runName } from "#protocol/base/names.ts";
import type { JanitorReport } from "#protocol/wire/upkeep.ts";
import { listUploads } from "#storage/s3/listing.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { claim, node, other, pairForEach, profileId, test } from "#server/testing/pair-for-each.ts";
import { announce, keyOf, makeSafe, manifestOf, run, upload, type Staged } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { janitorLines } from "./command-line/run-command.ts";
import { lookAtProfile } from "./janitor.ts";
import { OLD_ENOUGH_MS } from "#storage/manifest/classify-orphan.ts";

const HOUR_MS = 3_600_000;
pairForEach();

const look = (mode: "report" | "delete"): Promise<JanitorReport> =>
  lookAtProfile(test.hub, profileId, { mode, by: "test" });
const allKeys = () => keysOf(test.hub, profileId, "");

async function openUpload(staged: Staged, who: TestNode): Promise<void> {
  const key = keyOf(staged, "model.safetensors");
  const create = { op: "create" as const, key, nonce: "n" };
  const { requests } = await callAs(test.hub, who.caller).node.sign({ operations: [create] });
  const [request] = requests;
  if (request === undefined) throw new Error("no request");
  const { "content-length": _, ...headers } = request.headers;
  const answer = await fetch(request.url, { method: request.method, headers });
  if (!answer.ok) throw new Error(await answer.text());
}

async function uploadsIn(): Promise<string[]> {
  const { client, access, prefix } = await test.hub.stores.open(profileId);
  const keys: string[] = [];
  for await (const { key } of listUploads(client, { bucket: access.bucket, prefix })) keys.push(key);
  return keys;
}

const put = async (key: string, text: string) => {
  const { client, access } = await test.hub.stores.open(profileId);
  await putObjectText(client, { bucket: access.bucket, key, text });
};

describe("the janitor", () => {
  it("counts first, and removes what a dead node left once its epoch has long been over", async () => {
    await claim(node);
    const safe = await makeSafe(test.hub, node, { epoch: 1, step: 10 });
    const dead = await announce(test.hub, node, { epoch: 1, step: 20 });
    await upload(test.hub, node, dead);
    const half = await announce(test.hub, node, { epoch: 1, step: 30 });
    await openUpload(half, node);
    await claim(other);
    const going = await announce(test.hub, other, { epoch: 2, step: 30 });
    await upload(test.hub, other, going);
    await openUpload(await announce(test.hub, other, { epoch: 2, step: 40 }), other);
    await put("team/_tidemark/probe/node-0001/probe-0001", "x");
    await put("team/_tidemark/probe/probe-0002", "x");
    await put("team/_tidemark/elsewhere/probe-0002", "x");
    await put("elsewhere/runs/llama/e000001/aaaaaaaaaaaa/file", "of somebody else");
    const before = await allKeys();

    expect(await look("delete")).toMatchObject({ objects: { count: 0 }, uploads: { count: 0 }, removed: { count: 0 } });
    test.advance(OLD_ENOUGH_MS + HOUR_MS);
    const report = await look("report");
    expect(report).toMatchObject({
      objects: { count: 1, bytes: Buffer.byteLength("weights of step 20") },
      uploads: { count: 1 },
      probes: { count: 2 },
      removed: { count: 0, bytes: 0 },
      kept: { "open-epoch": { count: 0 }, unknown: { count: 0 }, young: { count: 0 } },
    });
    expect(await allKeys()).toEqual(before);
    expect((await callAs(test.hub, "viewer").upkeep.status()).orphanBytes).toBe(
      report.objects.bytes + report.uploads.bytes + report.probes.bytes,
    );

    expect(await look("delete")).toMatchObject({ removed: { count: 4 }, fault: null });
    const gone = [
      keyOf(dead, "model.safetensors"),
      "team/_tidemark/probe/node-0001/probe-0001",
      "team/_tidemark/probe/probe-0002",
    ];
    expect(before.filter((key) => !gone.includes(key))).toEqual(await allKeys());
    expect((await allKeys()).includes(keyOf(safe, "model.safetensors"))).toBe(true);
    expect(await uploadsIn()).toHaveLength(1);
    expect((await callAs(test.hub, "viewer").upkeep.status()).orphanBytes).toBe(0);
    const audits = await test.hub.db.audit.findMany({ where: { action: "janitor delete" } });
    expect(audits.at(-1)?.subject).toBe("training: 4 of 4");
    expect((await test.hub.db.event.findMany({ where: { kind: "upkeep" } })).at(-1)?.text).toContain("Removed 4");
  });

  it("says that nothing is freed where the bucket keeps what it removes as old versions", async () => {
    await claim(node);
    await upload(test.hub, node, await announce(test.hub, node, { epoch: 1, step: 20 }));
    await claim(other);
    test.advance(OLD_ENOUGH_MS + HOUR_MS);
    const { client, access } = await test.hub.stores.open(profileId);
    const VersioningConfiguration = { Status: "Enabled" } as const;
    await client.send(new PutBucketVersioningCommand({ Bucket: access.bucket, VersioningConfiguration }));
    const send = client.send.bind(client);
    let asked = 0;
    client.send = ((command: object) => {
      if (command instanceof GetBucketVersioningCommand) asked++;
      return send(command as never);
    }) as never;
    const report = await look("delete");
    client.send = send;
    expect(report).toMatchObject({ removed: { count: 1 }, keepsVersions: true });
    expect(asked).toBe(1);
    const clause = "; the bucket keeps them as old versions, so nothing is freed until";
    expect((await test.hub.db.event.findMany({ where: { kind: "upkeep" } })).at(-1)?.text).toContain(
      `from training${clause}`,
    );
    const audits = await test.hub.db.audit.findMany({ where: { action: "janitor delete" } });
    expect(audits.at(-1)?.subject).toContain(`training: 1 of 1${clause}`);
    expect(janitorLines(report).join("\n")).toContain(`)${clause}`);
    expect((await look("delete")).removed.count).toBe(0);
  });

  it("removes nothing while a listing fails, whichever it is", async () => {
    await claim(node);
    const dead = await announce(test.hub, node, { epoch: 1, step: 20 });
    await upload(test.hub, node, dead);
    await claim(other);
    test.advance(OLD_ENOUGH_MS + HOUR_MS);
    const { client } = await test.hub.stores.open(profileId);
    const send = client.send.bind(client);
    const before = await allKeys();
    for (const folder of ["runs/", "manifests/", "epochs/", "_tidemark/probe/"]) {
      client.send = ((command: { input: { Prefix?: string } }) => {
        if (command.input.Prefix === `team/${folder}`) throw new Error("the link is down");
        return send(command as never);
      }) as never;
      await expect(look("delete")).rejects.toThrow();
    }
    client.send = send;
    expect(await allKeys()).toEqual(before);
  });

  it("counts no upload as removed that the store does not know by name and still lists", async () => {
    await claim(node);
    await openUpload(await announce(test.hub, node, { epoch: 1, step: 30 }), node);
    const half = await announce(test.hub, node, { epoch: 1, step: 40 });
    await openUpload(half, node);
    const kept = keyOf(half, "model.safetensors");
    await claim(other);
    test.advance(OLD_ENOUGH_MS + HOUR_MS);
    const { client } = await test.hub.stores.open(profileId);
    const send = client.send.bind(client);
    client.send = ((command: { input: { Key?: string } }) => {
      const isAbort = command instanceof AbortMultipartUploadCommand;
      const wrong = isAbort && command.input.Key === kept ? { ...command.input, UploadId: "other" } : null;
      return send(wrong === null ? (command as never) : new AbortMultipartUploadCommand(wrong));
    }) as never;
    expect(await look("delete")).toMatchObject({ uploads: { count: 2 }, removed: { count: 1 }, fault: null });
    expect(await uploadsIn()).toContain(kept);
    // One that is gone by now is what was wanted.
    client.send = (async (command: object) => {
      if (command instanceof AbortMultipartUploadCommand) await send(new AbortMultipartUploadCommand(command.input));
      return send(command as never);
    }) as never;
    expect(await look("delete")).toMatchObject({ uploads: { count: 1 }, removed: { count: 1 }, fault: null });
    client.send = send;
    expect(await uploadsIn()).not.toContain(kept);
  });

  it("leaves alone what another hub owns: runs it does not know, and runs with a later claim in the bucket", async () => {
    await claim(node);
    await upload(test.hub, node, await announce(test.hub, node, { epoch: 1, step: 20 }));
    await claim(other);
    await put("team/runs/unknown/e000001/aaaaaaaaaaaa/file", "x");
    await put("team/epochs/llama/e000007.json", "{}");
    test.advance(OLD_ENOUGH_MS + HOUR_MS);
    expect(await look("delete")).toMatchObject({ objects: { count: 0 }, kept: { unknown: { count: 2 } } });
  });

  it("keeps what a manifest in the bucket names although the database does not have it", async () => {
    await claim(node);
    const staged = await makeSafe(test.hub, node, { epoch: 1, step: 10 });
    await test.hub.db.checkpoint.delete({ where: { id: staged.checkpointId } });
    await claim(other);
    test.advance(OLD_ENOUGH_MS + HOUR_MS);
    expect(await look("delete")).toMatchObject({ objects: { count: 0 }, removed: { count: 0 } });
    expect(await allKeys()).toContain(keyOf(staged, "model.safetensors"));
  });

  it("does not touch what lies under the prefix of another profile inside its own", async () => {
    await claim(node);
    const dead = await announce(test.hub, node, { epoch: 1, step: 20 });
    await upload(test.hub, node, dead);
    await claim(other);
    const inside = attemptPrefix("team/", { run, epoch: 1, attempt: dead.attempt });
    const row = await test.hub.db.profile.findUniqueOrThrow({ where: { id: profileId } });
    await test.hub.db.profile.create({ data: { ...row, id: "profile-inside", name: "inside", prefix: inside } });
    test.advance(OLD_ENOUGH_MS + HOUR_MS);
    expect(await look("delete")).toMatchObject({ objects: { count: 0 }, removed: { count: 0 } });
  });

  it("stops when a restore of the hub comes in between", async () => {
    await test.hub.db.doubt.create({ data: { kind: "restored", at: new Date() } });
    await expect(look("delete")).rejects.toMatchObject({ code: "DELETIONS_OFF" });
    await expect(callAs(test.hub, "admin").upkeep.runJanitor({ mode: "delete" })).rejects.toEqual(
      fault("DELETIONS_OFF"),
    );
    expect(await look("report")).toMatchObject({ mode: "report" });
  });

  it("goes on in the background when a person starts it, and tells the end", async () => {
    const admin = callAs(test.hub, "admin");
    expect(await admin.upkeep.runJanitor({ mode: "report" })).toMatchObject({ isJanitorRunning: true });
    await expect.poll(async () => (await admin.upkeep.status()).isJanitorRunning).toBe(false);
    expect((await admin.upkeep.status()).lastJanitor).toMatchObject([{ profileName: "training", mode: "report" }]);
  });
});

/** Xorshift: the same seed, the same history. */
function createRandom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

interface History {
  epoch: number;
  writer: TestNode;
  pending: Staged[];
}

async function oneMove(history: History, random: (below: number) => number, step: number): Promise<void> {
  const { epoch, writer, pending } = history;
  switch (random(8)) {
    case 0: {
      history.writer = writer === node ? other : node;
      history.epoch = (await claim(history.writer)).epoch;
      history.pending = [];
      return;
    }
    case 1:
      test.advance(random(40) * HOUR_MS);
      return;
    case 2:
      await makeSafe(test.hub, writer, { epoch, step });
      return;
    case 3:
    case 4: {
      const files = [
        { path: "a.bin", text: `a of ${step}` },
        { path: "b.bin", text: `b of ${step}` },
      ];
      const staged = await announce(test.hub, writer, { epoch, step, files });
      // Some are cut off after their first file.
      await upload(test.hub, writer, random(2) === 0 ? staged : { ...staged, files: files.slice(0, 1) });
      pending.push(staged);
      return;
    }
    case 5:
      await openUpload(await announce(test.hub, writer, { epoch, step }), writer);
      return;
    case 6: {
      const staged = pending.pop();
      if (staged === undefined) return;
      const etags = await upload(test.hub, writer, staged).catch(() => null);
      if (etags === null) return;
      await callAs(test.hub, writer.caller).node.commit({ manifest: manifestOf(test.hub, writer, { staged, etags }) });
      return;
    }
    default: {
      // The same capture once more, under another attempt.
      const staged = pending.pop();
      if (staged === undefined) return;
      const again = await announce(test.hub, writer, {
        epoch,
        step: staged.step,
        files: staged.files,
        checkpointId: staged.checkpointId,
      });
      await upload(test.hub, writer, again);
      pending.push(again);
    }
  }
}

/** Keys that must stay: named by a complete checkpoint, or under an attempt that is being uploaded in the present epoch. */
async function readProtected() {
  const rows = await test.hub.db.checkpoint.findMany({ include: { content: true } });
  const current = await test.hub.db.epoch.findFirst({ where: { run }, orderBy: { epoch: "desc" } });
  const named = new Set<string>();
  const prefixes: string[] = [];
  for (const row of rows) {
    if (row.state === "complete" && row.content?.manifest != null) {
      for (const { extents } of manifest.parse(JSON.parse(row.content.manifest)).files) {
        for (const { key } of extents) named.add(key);
      }
    }
    const at = { run: runName.parse(row.run), epoch: row.writerEpoch, attempt: attemptId.parse(row.attempt) };
    if (row.state === "uploading" && row.writerEpoch === current?.epoch) prefixes.push(attemptPrefix("team/", at));
  }
  return (key: string) => named.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
}

/** Lets it delete; nothing that is protected may be gone. */
async function deleteAndCompare(): Promise<(key: string) => boolean> {
  const isProtected = await readProtected();
  const before = (await allKeys()).filter(isProtected);
  await look("delete");
  const after = new Set(await allKeys());
  expect(before.filter((key) => !after.has(key))).toEqual([]);
  return isProtected;
}

describe("over histories made by chance", () => {
  it.each([1, 2, 3, 4, 5, 6])(
    "nothing that a complete or live checkpoint names is ever removed, and in the end nothing else is left (seed %i)",
    async (seed) => {
      const random = createRandom(seed);
      const history: History = { epoch: (await claim(node)).epoch, writer: node, pending: [] };
      for (let step = 1; step <= 24; step++) {
        await oneMove(history, random, step);
        if (random(4) > 0) continue;
        await deleteAndCompare();
      }
      await claim(history.writer === node ? other : node);
      test.advance(OLD_ENOUGH_MS + HOUR_MS);
      const isProtected = await deleteAndCompare();
      const data = await keysOf(test.hub, profileId, "team/runs/");
      expect(data.filter((key) => !isProtected(key))).toEqual([]);
      expect(await uploadsIn()).toEqual([]);
    },
  );
});
