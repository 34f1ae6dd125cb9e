import { describe, expect, it } from "vitest";
import { keepFolder, manifestKey } from "#protocol/checkpoint/keys.ts";
import { deleteObject, putObjectText } from "#storage/s3/objects.ts";
import { node, profileId, test } from "#server/testing/pair-for-each.ts";
import { keyOf, manifestOf, newAttempt, run, type Staged } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { emptyDue } from "./empty-trash.ts";
import { historyForEach, idOf, made } from "#server/testing/history-for-each.ts";
import { stepsIn } from "#server/testing/stage-history.ts";

const DAY_MS = 86_400_000;
historyForEach(4);

const ask = () => callAs(test.hub, "operator");
const manifestKeyOf = ({ epoch, step, checkpointId, attempt }: Staged): string =>
  manifestKey("team/", { run, epoch, step, checkpointId, attempt });
const keys = () => keysOf(test.hub, profileId, "");
const empty = () => emptyDue(test.hub, () => false);
const trashRow = (index: number) =>
  test.hub.db.keepRecord.findFirst({ where: { checkpointId: idOf(index), kind: "trash" } });
const staged = (index: number): Staged => {
  const one = made[index];
  if (one === undefined) throw new Error("there is no such checkpoint");
  return one;
};
/** Lets some of the calls to the store fail. */
async function failing(fails: (command: { constructor: { name: string }; input: { Key?: string } }) => boolean) {
  const { client } = await test.hub.stores.open(profileId);
  const send = client.send.bind(client);
  client.send = ((command: { constructor: { name: string }; input: { Key?: string } }) =>
    fails(command) ? Promise.reject(new Error("the link is down")) : send(command as never)) as never;
  return () => {
    client.send = send as never;
  };
}

describe("the trash", () => {
  it("takes a checkpoint out of every list of what can be restored, and gives it back whole", async () => {
    await ask().checkpoints.trash({ id: idOf(0) });
    expect(await stepsIn(test, "trashed")).toEqual([100]);
    const plan = callAs(test.hub, "viewer").restores.plan({ checkpointId: idOf(0), nodeId: null });
    await expect(plan).rejects.toThrow(fault("CHECKPOINT_INCOMPLETE"));
    const [row] = await ask().keeping.trash({ run });
    expect(row).toMatchObject({ step: 100, why: "by operator@example.com", isBeingDeleted: false, fault: null });
    expect((row?.until ?? 0) - (row?.at ?? 0)).toBe(7 * DAY_MS);
    for (const call of [ask().checkpoints.pin({ id: idOf(0) }), ask().checkpoints.tag({ id: idOf(0), tag: "x" })]) {
      await expect(call).rejects.toThrow(fault("CHECKPOINT_TRASHED"));
    }
    expect(await ask().checkpoints.bringBack({ id: idOf(0) })).toEqual({ isBack: true });
    expect(await ask().checkpoints.bringBack({ id: idOf(0) })).toEqual({ isBack: false });
    expect(await stepsIn(test, "complete")).toEqual([100, 200, 300, 400]);
    expect(await ask().keeping.trash({ run: null })).toEqual([]);
    const events = await test.hub.db.event.findMany({ where: { kind: { startsWith: "checkpoint-" }, step: 100n } });
    expect(events.map(({ kind }) => kind)).toEqual(["checkpoint-safe", "checkpoint-trashed", "checkpoint-back"]);
  });

  it("refuses what is kept and says what keeps it", async () => {
    await ask().checkpoints.pin({ id: idOf(0) });
    await ask().checkpoints.tag({ id: idOf(1), tag: "best" });
    await expect(ask().checkpoints.trash({ id: idOf(0) })).rejects.toThrow("pinned");
    await expect(ask().checkpoints.trash({ id: idOf(1) })).rejects.toThrow("tagged best");
    await expect(ask().checkpoints.trash({ id: idOf(3) })).rejects.toThrow("the newest complete one");
    await callAs(test.hub, "operator").restores.create({
      requestId: newId(),
      checkpointId: idOf(2),
      nodeId: node.nodeId,
      targetPath: "/data/x",
    });
    await expect(ask().checkpoints.trash({ id: idOf(2) })).rejects.toThrow("a node restores it");
    expect(await stepsIn(test, "trashed")).toEqual([]);
  });

  it("reads the bucket first: a pin that this hub lost, or cannot read, still holds", async () => {
    await ask().checkpoints.pin({ id: idOf(0) });
    await test.hub.db.keepRecord.deleteMany();
    await expect(ask().checkpoints.trash({ id: idOf(0) })).rejects.toThrow(fault("CHECKPOINT_KEPT"));
    const { client } = await test.hub.stores.open(profileId);
    const key = `${keepFolder("team/", { run, checkpointId: idOf(1) })}of-a-later-version`;
    await putObjectText(client, { bucket: "training", key, text: "{}" });
    await expect(ask().checkpoints.trash({ id: idOf(1) })).rejects.toThrow("pinned");
    // A person who unpins it says that it may go.
    await ask().checkpoints.unpin({ id: idOf(1) });
    await ask().checkpoints.trash({ id: idOf(1) });
    expect(await stepsIn(test, "trashed")).toEqual([200]);
  });

  it("is not left by a node that commits once more", async () => {
    const one = staged(0);
    await ask().checkpoints.trash({ id: one.checkpointId });
    const { manifest } = await test.hub.db.checkpointContent.findUniqueOrThrow({
      where: { checkpointId: one.checkpointId },
    });
    const etags = new Map([["model.safetensors", "x"]]);
    const other = manifestOf(test.hub, node, { staged: one, etags });
    const commit = callAs(test.hub, node.caller).node.commit;
    await expect(commit({ manifest: other })).rejects.toThrow(fault("CONFLICT"));
    expect(await commit({ manifest: JSON.parse(manifest ?? "") as typeof other })).toHaveProperty("sha256");
    expect(await stepsIn(test, "trashed")).toEqual([100]);
  });
});

describe("emptying", () => {
  it("deletes the objects of that checkpoint and no other, once its time is over", async () => {
    const before = await keys();
    await ask().checkpoints.trash({ id: idOf(1) });
    test.advance(7 * DAY_MS - 1_000);
    await empty();
    expect(await stepsIn(test, "trashed")).toEqual([200]);
    test.advance(2_000);
    await empty();
    const gone = [manifestKeyOf(staged(1)), keyOf(staged(1), "model.safetensors")];
    const left = (await keys()).filter((key) => !key.startsWith("team/keeping/"));
    expect(left).toEqual(before.filter((key) => !gone.includes(key)));
    expect(await stepsIn(test, "complete")).toEqual([100, 300, 400]);
    expect(await test.hub.db.checkpoint.count({ where: { id: idOf(1) } })).toBe(0);
    await expect(callAs(test.hub, "viewer").checkpoints.get({ id: idOf(1) })).rejects.toThrow(fault("NOT_FOUND"));
    expect(await test.hub.db.audit.count({ where: { action: "checkpoint delete", subjectId: idOf(1) } })).toBe(1);
    expect(await test.hub.db.event.count({ where: { kind: "checkpoint-deleted" } })).toBe(1);
  });

  it("takes every manifest of it, also one that a cut-off commit left, and what its attempt wrote beside", async () => {
    const { client } = await test.hub.stores.open(profileId);
    const stray = keyOf(staged(1), "not-named.bin");
    const other = newAttempt();
    const twin = { ...staged(1), attempt: other };
    for (const key of [stray, manifestKeyOf(twin), keyOf(twin, "model.safetensors")]) {
      await putObjectText(client, { bucket: "training", key, text: "x" });
    }
    await ask().checkpoints.trash({ id: idOf(1) });
    test.advance(8 * DAY_MS);
    await empty();
    const left = await keys();
    expect(left.filter((key) => key.includes(idOf(1)) && !key.startsWith("team/keeping/"))).toEqual([]);
    expect(left.filter((key) => key.includes(staged(1).attempt) || key.includes(other))).toEqual([]);
  });

  it("waits while a signature could still be good, whoever asks", async () => {
    await ask().checkpoints.trash({ id: idOf(1) });
    const admin = callAs(test.hub, "admin").keeping;
    expect(await admin.emptyNow({ ids: [idOf(1)] })).toEqual({ begun: 0, tooYoung: 1, kept: 0, gone: 0 });
    test.advance(26 * 3_600_000);
    expect(await admin.emptyNow({ ids: [idOf(1), idOf(2)] })).toEqual({ begun: 1, tooYoung: 0, kept: 0, gone: 1 });
    await expect(ask().checkpoints.bringBack({ id: idOf(1) })).rejects.toThrow();
    await empty();
    expect(await stepsIn(test, "trashed")).toEqual([]);
    expect(await stepsIn(test, "complete")).toEqual([100, 300, 400]);
  });

  it("is off while a part of the record is in doubt", async () => {
    await ask().checkpoints.trash({ id: idOf(1) });
    test.advance(8 * DAY_MS);
    await test.hub.db.doubt.create({ data: { kind: "restored", at: new Date() } });
    const before = await keys();
    await empty();
    await expect(callAs(test.hub, "admin").keeping.emptyNow({ ids: [idOf(1)] })).rejects.toThrow(
      fault("DELETIONS_OFF"),
    );
    expect(await keys()).toEqual(before);
  });

  it("stops before it began when the bucket says that it is pinned", async () => {
    await ask().checkpoints.trash({ id: idOf(1) });
    const { client } = await test.hub.stores.open(profileId);
    const key = `${keepFolder("team/", { run, checkpointId: idOf(1) })}garbage`;
    await putObjectText(client, { bucket: "training", key, text: "\u0000" });
    test.advance(8 * DAY_MS);
    const before = await keys();
    await empty();
    expect(await keys()).toEqual(before);
    const [row] = await ask().keeping.trash({ run });
    expect(row).toMatchObject({ step: 200, isBeingDeleted: false, fault: { code: "CHECKPOINT_KEPT" } });
    expect(await ask().checkpoints.bringBack({ id: idOf(1) })).toEqual({ isBack: true });
    expect(await stepsIn(test, "complete")).toEqual([100, 200, 300, 400]);
  });

  it("leaves a checkpoint that can be brought back when its manifest could not be deleted", async () => {
    await ask().checkpoints.trash({ id: idOf(1) });
    test.advance(8 * DAY_MS);
    const mend = await failing(({ input }) => input.Key?.startsWith("team/manifests/") === true);
    await empty();
    mend();
    expect(await trashRow(1)).toMatchObject({ removingAt: null });
    expect((await ask().keeping.trash({ run }))[0]?.fault).not.toBeNull();
    expect(await ask().checkpoints.bringBack({ id: idOf(1) })).toEqual({ isBack: true });
  });

  it("goes on after it was cut off between manifest and data, and nobody brings it back meanwhile", async () => {
    await ask().checkpoints.trash({ id: idOf(1) });
    test.advance(8 * DAY_MS);
    const mend = await failing(
      ({ constructor, input }) =>
        constructor.name === "DeleteObjectCommand" && input.Key?.startsWith("team/runs/") === true,
    );
    await empty();
    mend();
    expect(await keys()).not.toContain(manifestKeyOf(staged(1)));
    expect(await keys()).toContain(keyOf(staged(1), "model.safetensors"));
    await expect(ask().checkpoints.bringBack({ id: idOf(1) })).rejects.toThrow("its deletion has begun");
    await test.restart();
    test.advance(3_600_000);
    await empty();
    expect(await keys()).not.toContain(keyOf(staged(1), "model.safetensors"));
    expect(await stepsIn(test, "trashed")).toEqual([]);
  });

  it("brings nothing back whose manifest is gone, whatever the database says", async () => {
    await ask().checkpoints.trash({ id: idOf(1) });
    const { client } = await test.hub.stores.open(profileId);
    await deleteObject(client, { bucket: "training", key: manifestKeyOf(staged(1)) });
    await expect(ask().checkpoints.bringBack({ id: idOf(1) })).rejects.toThrow(fault("CONFLICT"));
    expect(await stepsIn(test, "trashed")).toEqual([200]);
  });
});
