import { describe, expect, it } from "vitest";
import type { Sealing } from "#protocol/checkpoint/sealing.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { getObjectRange } from "#storage/s3/objects.ts";
import { makeSafetensors } from "#storage/testing/plain-safetensors.ts";
import { announce, makeSafe, manifestOf, putOf, run, upload } from "#server/testing/stage-checkpoint.ts";
import {
  claim as claimEpoch,
  node,
  other,
  pairForEach,
  profileId,
  store,
  test,
} from "#server/testing/pair-for-each.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { fault } from "#server/testing/match-fault.ts";
import {
  addTestNode,
  addTestPerson,
  callAs,
  openTestHub,
  profileFor,
  TEST_PASSWORD,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { createReach, readReach } from "#server/platform/reach.ts";
import { rebuild } from "../maintenance/rebuild.ts";
import { openToolsAlone } from "../maintenance/command-line/tools.ts";
import { makeSealed, toldTo, uploadSealed } from "#server/testing/stage-sealed.ts";

pairForEach();

const admin = () => callAs(test.hub, "admin");
const as = (who: TestNode) => callAs(test.hub, who.caller).node;
const set = (sealing: Sealing, understood = true) => admin().sealing.set({ id: profileId, sealing, understood });
const claim = async (who: TestNode) => (await claimEpoch(who)).epoch;
const actions = async () => (await test.hub.db.audit.findMany({ orderBy: { id: "asc" } })).map(({ action }) => action);

describe("switching encryption on", () => {
  it("takes somebody who understood what losing the key means, makes a key once, and is on record", async () => {
    await expect(set("content", false)).rejects.toEqual(fault("BAD_INPUT"));
    const { keys } = await set("content");
    expect(keys).toMatchObject([{ isCurrent: true, exportedAt: null, isImported: false, checkpoints: 0 }]);
    await set("off");
    expect((await set("names")).keys).toEqual(keys);
    expect(await actions()).toEqual(
      expect.arrayContaining(["encryption content", "encryption off", "encryption names"]),
    );
    const renewed = await admin().sealing.renewKey({ id: profileId });
    expect(renewed.keys.filter(({ isCurrent }) => isCurrent)).toHaveLength(1);
    expect(renewed.keys).toHaveLength(2);
  });

  it("tells nodes the public half, and nobody the other one", async () => {
    await set("names");
    const person = await addTestPerson(test.hub, "keys@example.com", "admin");
    const told = await toldTo(test.hub, node);
    const { text } = await callAs(test.hub, person.caller).sealing.exportKey({
      profileId,
      keyId: told.keyId,
      password: TEST_PASSWORD,
    });
    const secret = text.split(".")[2] ?? "";
    expect(secret).toHaveLength(43);
    expect(told.hideNames).toBe(true);
    for (const seen of [told, await admin().sealing.get({ id: profileId }), await admin().profiles.list()]) {
      expect(JSON.stringify(seen)).not.toContain(secret);
    }
    const rows = await test.hub.db.sealKeySecret.findMany();
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it("takes no checkpoint without it from then on, so that no plain byte comes to lie there", async () => {
    const epoch = await claim(node);
    const before = await announce(test.hub, node, { epoch, step: 1 });
    const etags = await upload(test.hub, node, before);
    await set("content");
    await expect(announce(test.hub, node, { epoch, step: 2 })).rejects.toEqual(fault("SEAL_REQUIRED"));
    // What was on its way before is neither signed for nor taken any more: its node begins again, and encrypts.
    const operations = before.files.map((file) => putOf(before, file));
    await expect(as(node).sign({ operations })).rejects.toEqual(fault("SEAL_REQUIRED"));
    const late = as(node).commit({ manifest: manifestOf(test.hub, node, { staged: before, etags }) });
    await expect(late).rejects.toEqual(fault("SEAL_REQUIRED"));
    const { staged, manifest } = await uploadSealed(test.hub, node, { epoch, step: 3 });
    const plain = {
      ...manifestOf(test.hub, node, { staged, etags: new Map([["model.safetensors", "etag"]]) }),
      transform: { kind: "none" as const },
    };
    await expect(as(node).commit({ manifest: plain })).rejects.toEqual(fault("BAD_INPUT"));
    await as(node).commit({ manifest });
    expect((await admin().sealing.get({ id: profileId })).keys[0]?.checkpoints).toBe(1);
  });
});

describe("a commit", () => {
  it("is refused when nobody could ever open it: another key, another checkpoint's key, another inside", async () => {
    await set("content");
    const epoch = await claim(node);
    const first = await makeSealed(test.hub, node, { epoch, step: 1 });
    const { manifest } = await uploadSealed(test.hub, node, { epoch, step: 2 });
    const { transform } = manifest;
    if (transform.kind !== "sealed" || first.manifest.transform.kind !== "sealed") throw new Error("not sealed");
    const wrong = [
      { wrapped: first.manifest.transform.wrapped },
      { inside: first.manifest.transform.inside },
      { keyId: newId() },
      { hideNames: true },
      { wrapped: `A${transform.wrapped.slice(1, -1)}A` },
    ];
    for (const change of wrong) {
      const attempt = as(node).commit({ manifest: { ...manifest, transform: { ...transform, ...change } } });
      await expect(attempt).rejects.toEqual(fault("BAD_INPUT"));
    }
    expect(await test.hub.db.checkpoint.count({ where: { state: "complete" } })).toBe(1);
    await as(node).commit({ manifest });
  });
});

/** As a person's order for this node, which it has not ended. */
const order = (to: TestNode, checkpointId: string, kind: string) =>
  test.hub.db.command.create({
    data: {
      id: newId(),
      requestId: newId(),
      nodeId: to.nodeId,
      kind,
      transferId: newId(),
      checkpointId,
      body: "{}",
      state: "sent",
      createdAt: new Date(),
    },
  });

describe("the key of a checkpoint", () => {
  it("is given for a restore that this node was asked for, on record, and not once that has ended", async () => {
    await set("content");
    const epoch = await claim(node);
    const { staged, key } = await makeSealed(test.hub, node, { epoch, step: 1 });
    const { checkpointId } = staged;
    await expect(as(other).releaseKey({ checkpointId })).rejects.toEqual(fault("SEAL_KEY_REFUSED"));
    const { id } = await order(other, checkpointId, "restore");
    expect(await as(other).releaseKey({ checkpointId })).toEqual({ key: key.toString("base64url") });
    const row = await test.hub.db.audit.findFirst({ where: { action: "release key" } });
    expect(row).toMatchObject({
      actorKind: "node",
      actorId: other.nodeId,
      subject: `step 1 of ${run}`,
      subjectId: checkpointId,
    });
    await test.hub.db.command.update({ where: { id }, data: { endedAt: new Date() } });
    await expect(as(other).releaseKey({ checkpointId })).rejects.toEqual(fault("SEAL_KEY_REFUSED"));
    await order(other, checkpointId, "drill");
    expect(await as(other).releaseKey({ checkpointId })).toEqual({ key: key.toString("base64url") });
  });

  it("is not needed to verify, and not given for it", async () => {
    await set("content");
    const { staged } = await makeSealed(test.hub, node, { epoch: await claim(node), step: 1 });
    const { checkpointId } = staged;
    await order(other, checkpointId, "verify");
    expect((await as(other).readCheckpoint({ checkpointId })).manifest.id).toBe(checkpointId);
    await expect(as(other).releaseKey({ checkpointId })).rejects.toEqual(fault("SEAL_KEY_REFUSED"));
  });

  it("of the newest is given to the writer of the run, and a stranger who took that node over reads nothing older", async () => {
    await set("content");
    const epoch = await claim(node);
    const older = await makeSealed(test.hub, node, { epoch, step: 1 });
    const newest = await makeSealed(test.hub, node, { epoch, step: 2 });
    const ask = (who: TestNode, one: typeof older) => as(who).releaseKey({ checkpointId: one.staged.checkpointId });
    expect(await ask(node, newest)).toEqual({ key: newest.key.toString("base64url") });
    await expect(ask(node, older)).rejects.toEqual(fault("SEAL_KEY_REFUSED"));
    // Whoever takes the run over goes on from the newest, and is given that one; the node before it, nothing more.
    await claim(other);
    expect(await ask(other, newest)).toEqual({ key: newest.key.toString("base64url") });
    await expect(ask(other, older)).rejects.toEqual(fault("SEAL_KEY_REFUSED"));
    await expect(ask(node, newest)).rejects.toEqual(fault("SEAL_KEY_REFUSED"));
    expect((await actions()).filter((one) => one === "release key")).toHaveLength(2);
    // What is known to be damaged is passed over for the one before it, which is then what is gone on from.
    await test.hub.db.checkpoint.update({ where: { id: newest.staged.checkpointId }, data: { damagedAt: new Date() } });
    expect(await ask(other, older)).toEqual({ key: older.key.toString("base64url") });
  });

  it("of a plain one does not exist", async () => {
    const staged = await makeSafe(test.hub, node, { epoch: await claim(node), step: 1 });
    await expect(as(node).releaseKey(staged)).rejects.toEqual(fault("BAD_INPUT"));
  });
});

async function objectsOf(client: Parameters<typeof listObjects>[0]) {
  const found = [];
  for await (const one of listObjects(client, { bucket: "training", prefix: "" })) found.push(one);
  return found;
}

const header = JSON.stringify({ w: { dtype: "U8", shape: [4], data_offsets: [0, 4] } }).padEnd(64);
const tensors = (last: number): Buffer => {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), Buffer.from([1, 2, 3, last])]);
};

describe("looking at encrypted checkpoints", () => {
  it("shows what is inside and what changed, while the bucket has neither names nor contents", async () => {
    await set("names");
    const epoch = await claim(node);
    const files = (last: number) => [
      { path: "secret-project/model.safetensors", bytes: tensors(last) },
      { path: "secret-project/same.json", bytes: Buffer.from(`{"a": 1}`) },
    ];
    const one = await makeSealed(test.hub, node, { epoch, step: 1, files: files(4) });
    const two = await makeSealed(test.hub, node, { epoch, step: 2, files: files(5) });
    const keys = await keysOf(test.hub, profileId, "");
    expect(keys.filter((key) => key.includes("secret") || key.includes("safetensors"))).toEqual([]);
    const { client } = await test.hub.stores.open(profileId);
    for (const { key, sizeBytes } of await objectsOf(client)) {
      const signal = new AbortController().signal;
      const range = { bucket: "training", key, offset: 0, length: sizeBytes, etag: null, signal };
      const bytes = Buffer.from(await getObjectRange(client, range));
      expect(bytes.includes("secret-project") || bytes.includes("data_offsets")).toBe(false);
    }
    const place = { checkpointId: one.staged.checkpointId, path: "secret-project/model.safetensors" };
    const found = await callAs(test.hub, "operator").inspect.file({ place });
    expect(found).toMatchObject({ format: "safetensors", tensors: [{ name: "w" }], fault: null });
    const { checkpointId } = two.staged;
    const download = callAs(test.hub, "viewer").browserTransfers.folder({ checkpointId });
    await expect(download).rejects.toEqual(fault("UNSUPPORTED"));
    const view = await callAs(test.hub, "viewer").checkpoints.get({ id: checkpointId });
    expect(view.files.map(({ path }) => path)).toEqual(files(0).map(({ path }) => path));
    const compared = await callAs(test.hub, "operator").inspect.compare({
      from: { checkpointId: one.staged.checkpointId },
      to: { checkpointId: two.staged.checkpointId },
    });
    expect(compared.files).toMatchObject({
      same: 1,
      unknown: 0,
      changed: [{ path: "secret-project/model.safetensors" }],
    });
  });

  it("finds the tensors that a restore asks for, and tells the node files by their own names", async () => {
    await set("names");
    const epoch = await claim(node);
    const tensor = (name: string, bytes: number) => ({
      name,
      dtype: "U8",
      shape: [bytes],
      bytes: Buffer.alloc(bytes, 1),
    });
    const files = [
      { path: "a.safetensors", bytes: makeSafetensors([tensor("embed.w", 300), tensor("head.w", 20)]) },
      { path: "b.safetensors", bytes: makeSafetensors([tensor("layers.0.w", 100)]) },
    ];
    const { staged } = await makeSealed(test.hub, node, { epoch, step: 600, files });
    const chosen = { checkpointId: staged.checkpointId, choice: { tensors: ["head.*"] } };
    const plan = await callAs(test.hub, "viewer").restores.plan({ ...chosen, nodeId: null });
    expect(plan).toMatchObject({
      chosen: { files: 1, bytes: files[0]?.bytes.length, tensors: { count: 1, bytes: 20 } },
      refusal: null,
    });
    const { restores } = await callAs(test.hub, "operator").restores.start({
      ...chosen,
      requestId: newId(),
      nodeIds: [node.nodeId],
      targetPath: "/data/some",
    });
    const where = { transferId: restores[0]?.transferId ?? "" };
    const { body } = await test.hub.db.command.findFirstOrThrow({ where });
    expect(JSON.parse(body)).toMatchObject({ files: ["a.safetensors"], tensors: ["head.*"] });
  });
});

describe("the exported key", () => {
  it("takes the password, is on record, and makes everything readable in a hub built from nothing", async () => {
    await set("names");
    const files = [{ path: "secret/model.safetensors", bytes: tensors(4) }];
    const { staged } = await makeSealed(test.hub, node, { epoch: await claim(node), step: 7, files });
    const { keyId } = await toldTo(test.hub, node);
    const person = await addTestPerson(test.hub, "keys@example.com", "admin");
    const exportKey = (password: string) =>
      callAs(test.hub, person.caller).sealing.exportKey({ profileId, keyId, password });
    await expect(exportKey("not the password")).rejects.toEqual(fault("PASSWORD_WRONG"));
    await expect(admin().profiles.remove({ id: profileId })).rejects.toEqual(fault("IN_USE"));
    const { text } = await exportKey(TEST_PASSWORD);
    expect(await actions()).toContain("export key");
    const { keys } = await admin().sealing.get({ id: profileId });
    expect(keys[0]).toMatchObject({ exportedBy: "keys@example.com", exportedAt: expect.any(Number) });

    const fresh = await openTestHub();
    await fresh.stop();
    const tools = await openToolsAlone({
      dataFolder: fresh.folder,
      postgres: fresh.hub.settings.postgres,
      secret: "a secret of at least thirty-two characters",
      previous: null,
      reach: createReach(readReach({}, { isLoopback: true })),
      now: Date.now,
    });
    const credential = { accessKeyId: "AKIATEST", secretAccessKey: "test-secret-key" };
    expect(await rebuild(tools, { profile: profileFor(store.endpoint), credential })).toMatchObject({ checkpoints: 1 });
    await tools.close();
    await fresh.start();
    const there = callAs(fresh.hub, "admin");
    const { checkpointId } = staged;
    const plan = () => there.restores.plan({ checkpointId, nodeId: null, choice: null });
    expect((await plan()).refusal?.code).toBe("SEAL_KEY_MISSING");
    expect(await there.sealing.get({ id: profileId })).toMatchObject({ lockedCheckpoints: 1, keys: [] });
    const place = { checkpointId, path: "secret/model.safetensors" };
    await expect(there.inspect.file({ place })).rejects.toEqual(fault("SEAL_KEY_MISSING"));
    const changed = `${text.slice(0, 60)}${text[60] === "x" ? "y" : "x"}${text.slice(61)}`;
    for (const wrong of ["hello", text.slice(0, -1), changed]) {
      await expect(there.sealing.importKey({ profileId, text: wrong })).rejects.toEqual(fault("BAD_INPUT"));
    }
    expect(await there.sealing.importKey({ profileId, text: ` ${text}\n` })).toMatchObject({
      lockedCheckpoints: 0,
      keys: [{ id: keyId, isImported: true, isCurrent: true, checkpoints: 1 }],
    });
    await expect(there.sealing.importKey({ profileId, text })).rejects.toEqual(fault("CONFLICT"));
    expect((await plan()).refusal).toBeNull();
    expect((await there.checkpoints.get({ id: checkpointId })).files.map(({ path }) => path)).toEqual([place.path]);
    expect(await there.inspect.file({ place })).toMatchObject({ format: "safetensors", fault: null });
    const late = await addTestNode(fresh.hub, profileId, "late");
    await expect(callAs(fresh.hub, late.caller).node.releaseKey({ checkpointId })).rejects.toEqual(
      fault("SEAL_KEY_REFUSED"),
    );
    await fresh.close();
  });

  it("is not given to a key that was never exported: its profile stays", async () => {
    await set("content");
    const empty = await openTestHub();
    await empty.close();
    await test.hub.db.node.deleteMany();
    await expect(admin().profiles.remove({ id: profileId })).rejects.toEqual(fault("IN_USE"));
    await test.hub.db.sealKey.updateMany({ data: { exportedAt: new Date() } });
    await admin().profiles.remove({ id: profileId });
    expect(await test.hub.db.sealKeySecret.count()).toBe(0);
  });
});
