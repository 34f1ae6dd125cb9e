import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readRecordsOf } from "#server/testing/test-words.ts";
import { runName } from "#protocol/base/names.ts";
import { makeSafe, newAttempt, run } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { addTestNode, addTestProfile, callAs, report } from "#server/testing/open-test-hub.ts";
import { silentAfterMs } from "#protocol/fleet/report-cadence.ts";
import { removeCheckpoint } from "../retention/remove-checkpoint.ts";
import { copyTo, makeBoth, openTwoHomes } from "#server/testing/stage-homes.ts";
import { payAllWords } from "#server/core/retention/write-retention-records.ts";

type Stage = Awaited<ReturnType<typeof openTwoHomes>>;
let stage: Stage;
beforeEach(async () => {
  stage = await openTwoHomes();
});
afterEach(() => stage.close());

const get = (id: string) => callAs(stage.test.hub, "viewer").checkpoints.get({ id });

describe("copies", () => {
  test("lie in their own bucket under their own attempt, with a manifest of their own", async () => {
    const { test: t, first, second } = stage;
    const staged = await makeBoth(stage, 10);
    const { copies } = await get(staged.checkpointId);
    expect(copies.map(({ profileId, state, isFirst }) => ({ profileId, state, isFirst }))).toEqual([
      { profileId: first, state: "complete", isFirst: true },
      { profileId: second, state: "complete", isFirst: false },
    ]);
    const there = await keysOf(t.hub, second, "team/");
    expect(there.filter((key) => key.startsWith("team/manifests/"))).toHaveLength(1);
    expect(there.filter((key) => key.includes(staged.attempt))).toEqual([]);
    expect(there.filter((key) => key.startsWith("team/epochs/"))).toHaveLength(1);
    const view = await callAs(t.hub, "viewer").homes.get({ run });
    expect(view.homes.map(({ complete, newestStep }) => ({ complete, newestStep }))).toEqual([
      { complete: 1, newestStep: 10 },
      { complete: 1, newestStep: 10 },
    ]);
    expect(view.behind).toEqual({ checkpoints: 0, newest: false });
  });

  test("that say something else than what was committed are refused", async () => {
    const { test: t, node, epoch, second } = stage;
    const staged = await makeSafe(t.hub, node, { epoch, step: 10 });
    const lie = copyTo(t.hub, node, {
      staged,
      profileId: second,
      change: (manifest) => ({ ...manifest, metrics: { loss: 0.1 } }),
    });
    await expect(lie).rejects.toMatchObject({ cause: { code: "BAD_INPUT" } });
    expect((await callAs(t.hub, "viewer").homes.get({ run })).behind).toEqual({ checkpoints: 1, newest: true });
  });

  test("are for the homes of the run alone", async () => {
    const { test: t, node, epoch, near } = stage;
    const other = await addTestProfile(t.hub, near.endpoint, { name: "elsewhere", prefix: "other/" });
    const staged = await makeSafe(t.hub, node, { epoch, step: 10 });
    const asked = callAs(t.hub, node.caller).node.beginCopy({
      checkpointId: staged.checkpointId,
      profileId: other,
      attempt: "abcdefghijklmnop",
    });
    expect(await asked).toEqual({ isWanted: false });
    const key = `other/runs/${run}/e000001/abcdefghijklmnop/model`;
    const signed = callAs(t.hub, node.caller).node.sign({ profileId: other, operations: [{ op: "head", key }] });
    await expect(signed).rejects.toMatchObject({ cause: { code: "NOT_THIS_NODES" } });
    const probe = `other/_tidemark/probe/${node.nodeId}/01234567-89ab`;
    const probed = callAs(t.hub, node.caller).node.sign({ profileId: other, operations: [{ op: "head", key: probe }] });
    await expect(probed).rejects.toMatchObject({ cause: { code: "NOT_THIS_NODES" } });
  });

  test("of a stranger's node are not signed for", async () => {
    const { test: t, second, epoch, node } = stage;
    const stranger = await addTestNode(t.hub, second, "gpu-2");
    const staged = await makeSafe(t.hub, node, { epoch, step: 10 });
    const manifest = await copyTo(t.hub, node, { staged, profileId: second });
    const key = manifest.files[0]?.extents[0]?.key ?? "";
    const signed = callAs(t.hub, stranger.caller).node.sign({
      operations: [{ op: "get", key, offset: 0, length: 1, etag: null }],
    });
    await expect(signed).rejects.toMatchObject({ cause: { code: "NOT_THIS_NODES" } });
  });
});

describe("with one bucket down", () => {
  test("a node claims the run and saves in the other", async () => {
    const { test: t, near, second } = stage;
    await near.close();
    const other = await addTestNode(t.hub, second, "gpu-2");
    t.advance(silentAfterMs(10_000) + 1);
    const { epoch } = await callAs(t.hub, other.caller).node.claimEpoch({ run });
    expect(epoch).toBe(2);
    const staged = await makeSafe(t.hub, other, { epoch, step: 20 });
    expect((await get(staged.checkpointId)).state).toBe("complete");
  });

  test("a pin is said in the other, and in the first when it is back", async () => {
    const { test: t, far, second } = stage;
    const staged = await makeBoth(stage, 10);
    await far.close();
    await callAs(t.hub, "operator").checkpoints.pin({ id: staged.checkpointId });
    expect(await t.hub.db.owedWords.count()).toBe(1);
    await payAllWords(t.hub, () => false);
    expect(await t.hub.db.owedWords.findMany({ select: { profileId: true } })).toEqual([{ profileId: second }]);
  });

  test("nothing of a checkpoint is deleted", async () => {
    const { test: t, far, first } = stage;
    const staged = await makeBoth(stage, 10);
    await makeBoth(stage, 20);
    await callAs(t.hub, "operator").checkpoints.trash({ id: staged.checkpointId });
    const before = await keysOf(t.hub, first, "team/runs/");
    await far.close();
    const row = await t.hub.db.checkpoint.findUniqueOrThrow({ where: { id: staged.checkpointId } });
    expect(await removeCheckpoint(t.hub, row)).toMatchObject({ started: false });
    expect(await keysOf(t.hub, first, "team/runs/")).toEqual(before);
  });

  test("many nodes that cannot reach it are one line of history, and one when it is back", async () => {
    const { test: t, node, second } = stage;
    const other = await addTestNode(t.hub, second, "gpu-2");
    const away = [{ profileId: second, since: t.hub.now(), code: "LINK_DOWN" }];
    const bootId = report(t.hub).bootId;
    const say = (who: typeof node, seq: number, homesAway: typeof away) =>
      callAs(t.hub, who.caller).node.progress({ ...report(t.hub), bootId, seq, homesAway });
    for (const who of [node, other]) await say(who, 1, away);
    expect((await callAs(t.hub, "viewer").homes.get({ run })).homes[1]?.away).toMatchObject({ nodes: 2 });
    for (const who of [node, other]) await say(who, 2, []);
    const kinds = await t.hub.db.event.findMany({ where: { kind: { in: ["home-away", "home-back"] } } });
    expect(kinds.map(({ kind }) => kind)).toEqual(["home-away", "home-back"]);
  });
});

describe("what is said and deleted", () => {
  test("a pin lies in every bucket that has a copy, also one that was said before", async () => {
    const { test: t, node, epoch, first, second } = stage;
    const staged = await makeSafe(t.hub, node, { epoch, step: 10 });
    await callAs(t.hub, "operator").checkpoints.pin({ id: staged.checkpointId });
    await copyTo(t.hub, node, { staged, profileId: second });
    await callAs(t.hub, "operator").checkpoints.tag({ id: staged.checkpointId, tag: "best" });
    const said = await Promise.all([first, second].map((id) => readRecordsOf(t.hub, id)));
    expect(said[0]).toHaveLength(2);
    expect(said[1]).toEqual(said[0]);
  });

  test("a deletion covers every copy", async () => {
    const { test: t, first, second } = stage;
    const staged = await makeBoth(stage, 10);
    await makeBoth(stage, 20);
    await callAs(t.hub, "operator").checkpoints.trash({ id: staged.checkpointId });
    const row = await t.hub.db.checkpoint.findUniqueOrThrow({ where: { id: staged.checkpointId } });
    expect(await removeCheckpoint(t.hub, row)).toEqual({ started: true });
    for (const id of [first, second]) {
      const keys = [...(await keysOf(t.hub, id, "team/runs/")), ...(await keysOf(t.hub, id, "team/manifests/"))];
      expect(keys).toHaveLength(2);
    }
  });

  test("each bucket keeps its newest, so that one that goes away takes not everything with it", async () => {
    const { test: t, node, epoch } = stage;
    const both = await makeBoth(stage, 10);
    const only = await makeSafe(t.hub, node, { epoch, step: 20 });
    const policy = { last: 1, everySteps: null, everyMs: null, best: null, mostBytes: null, trashMs: 86_400_000 };
    const preview = await callAs(t.hub, "viewer").keeping.preview({ run: runName.parse(run), policy });
    const fates = Object.fromEntries((preview[0]?.rows ?? []).map(({ id, fate }) => [id, fate]));
    expect(fates).toEqual({ [both.checkpointId]: "stays", [only.checkpointId]: "stays" });
    await expect(callAs(t.hub, "operator").checkpoints.trash({ id: both.checkpointId })).rejects.toMatchObject({
      cause: { code: "CHECKPOINT_KEPT" },
    });
  });
});

describe("homes", () => {
  test("a bucket that holds another run of that name does not become one", async () => {
    const { test: t, near, first, second } = stage;
    const third = await addTestProfile(t.hub, near.endpoint, { name: "third", prefix: "third/" });
    const { client } = await t.hub.stores.open(third);
    const { putObjectText } = await import("#storage/s3/objects.ts");
    await putObjectText(client, { bucket: "training", key: `third/epochs/${run}/e000009.json`, text: "{}" });
    const set = callAs(t.hub, "operator").homes.set({ run, profileIds: [first, second, third], copies: null });
    await expect(set).rejects.toMatchObject({ cause: { code: "CONFLICT" } });
  });

  test("a run is encrypted as the strictest of its homes asks, whichever of them it is saved in", async () => {
    const { test: t, node, first, second, epoch } = stage;
    const admin = callAs(t.hub, "admin");
    const told = async () => (await callAs(t.hub, node.caller).node.homes({ run })).homes.map(({ store }) => store);
    expect((await told()).map(({ sealing }) => sealing)).toEqual([null, null]);
    await admin.sealing.set({ id: second, sealing: "names", understood: true });
    const key = await t.hub.db.sealKey.findFirstOrThrow({ where: { profileId: second } });
    const strict = { keyId: key.id, publicKey: key.publicKey, hideNames: true };
    expect((await told()).map(({ sealing }) => sealing)).toEqual([strict, strict]);
    // A home with a key of its own takes that one, and asks for no less than the other.
    await admin.sealing.set({ id: first, sealing: "content", understood: true });
    const own = await t.hub.db.sealKey.findFirstOrThrow({ where: { profileId: first } });
    expect((await told()).map(({ sealing }) => [sealing?.keyId, sealing?.hideNames])).toEqual([
      [own.id, true],
      [key.id, true],
    ]);
    // Nothing plain is taken any more, nor what is encrypted for somebody else.
    await admin.sealing.set({ id: first, sealing: "off" });
    await expect(makeSafe(t.hub, node, { epoch, step: 10 })).rejects.toMatchObject({
      cause: { code: "SEAL_REQUIRED" },
    });
    await admin.homes.set({ run, profileIds: [first], copies: null });
    expect((await told()).map(({ sealing }) => sealing)).toEqual([null]);
    await makeSafe(t.hub, node, { epoch, step: 20 });
  });

  test("a bucket profile whose key opens what lies elsewhere stays", async () => {
    const { test: t, far, node, epoch } = stage;
    const admin = callAs(t.hub, "admin");
    const third = await addTestProfile(t.hub, far.endpoint, { name: "third", prefix: "third/" });
    await admin.sealing.set({ id: third, sealing: "content", understood: true });
    const where = { profileId: third };
    const { id: sealKeyId } = await t.hub.db.sealKey.findFirstOrThrow({ where });
    await t.hub.db.sealKey.updateMany({ where, data: { exportedAt: new Date() } });
    const { checkpointId: id } = await makeSafe(t.hub, node, { epoch, step: 10 });
    await t.hub.db.checkpoint.update({ where: { id }, data: { sealKeyId } });
    const remove = () => admin.profiles.remove({ id: third });
    await expect(remove()).rejects.toMatchObject({ cause: { code: "IN_USE" } });
    await t.hub.db.checkpoint.update({ where: { id }, data: { sealKeyId: null } });
    expect(await remove()).toEqual({ ok: true });
  });

  test("what was saved as it is comes to no bucket that wants encryption", async () => {
    const { test: t, node, first, second, epoch } = stage;
    const staged = await makeSafe(t.hub, node, { epoch, step: 10 });
    await callAs(t.hub, "admin").sealing.set({ id: second, sealing: "content", understood: true });
    const request = { checkpointId: staged.checkpointId, profileId: second, attempt: newAttempt() };
    expect(await callAs(t.hub, node.caller).node.beginCopy(request)).toEqual({ isWanted: false });
    await callAs(t.hub, "admin").sealing.set({ id: second, sealing: "off" });
    expect(await callAs(t.hub, node.caller).node.beginCopy(request)).toEqual({ isWanted: true });
    expect(first).not.toBe(second);
  });

  test("two profiles of one place are not two homes", async () => {
    const { test: t, near, first } = stage;
    const twin = await addTestProfile(t.hub, near.endpoint, { name: "twin" });
    const set = callAs(t.hub, "operator").homes.set({ run, profileIds: [first, twin], copies: null });
    await expect(set).rejects.toMatchObject({ cause: { code: "CONFLICT" } });
  });

  test("a node is told the nearest first, by its own history", async () => {
    const { test: t, node, first, second } = stage;
    const ask = async () =>
      (await callAs(t.hub, node.caller).node.homes({ run })).homes.map(({ store }) => store.profileId);
    expect(await ask()).toEqual([first, second]);
    const { rates } = t.hub.history;
    rates.addTransfer({ nodeId: node.nodeId, profileId: first, direction: "upload" }, 1_000_000);
    rates.addTransfer({ nodeId: node.nodeId, profileId: second, direction: "upload" }, 9_000_000);
    expect(await ask()).toEqual([second, first]);
  });

  test("a restore is offered the faster copy first, and the damaged one last", async () => {
    const { test: t, node, first, second } = stage;
    const staged = await makeBoth(stage, 10);
    const ask = async () =>
      (await callAs(t.hub, node.caller).node.readCheckpoint({ checkpointId: staged.checkpointId })).copies.map(
        ({ store }) => store.profileId,
      );
    const { rates } = t.hub.history;
    rates.addTransfer({ nodeId: node.nodeId, profileId: first, direction: "download" }, 1_000_000);
    rates.addTransfer({ nodeId: node.nodeId, profileId: second, direction: "download" }, 9_000_000);
    expect(await ask()).toEqual([second, first]);
    const where = { checkpointId_profileId: { checkpointId: staged.checkpointId, profileId: second } };
    await t.hub.db.checkpointCopy.update({ where, data: { damagedAt: new Date() } });
    expect(await ask()).toEqual([first, second]);
  });
});
