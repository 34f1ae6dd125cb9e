import { describe, expect, it } from "vitest";
import { keepRecord } from "#protocol/retention/keeping.ts";
import type { Operation } from "#protocol/wire/operations.ts";
import { getObjectText } from "#storage/s3/objects.ts";
import { node, profileId, test } from "#server/testing/pair-for-each.ts";
import { run } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { historyForEach, idOf } from "#server/testing/history-for-each.ts";

historyForEach(2);

const ask = () => callAs(test.hub, "operator").checkpoints;
const shown = async (id: string) => (await callAs(test.hub, "viewer").checkpoints.get({ id })).keeping;
const words = () => keysOf(test.hub, profileId, "team/keeping/");
async function readWord(key: string) {
  const { client } = await test.hub.stores.open(profileId);
  const { text } = await getObjectText(client, { bucket: "training", key, maxBytes: 65_536 });
  return keepRecord.parse(JSON.parse(text));
}
const audits = async () =>
  (await test.hub.db.audit.findMany({ where: { action: { startsWith: "checkpoint " } }, orderBy: { id: "asc" } })).map(
    ({ action, subject, actor }) => [action, subject, actor],
  );

describe("a pin", () => {
  it("is one object in the bucket, its removal another, and neither is ever written again", async () => {
    expect(await ask().pin({ id: idOf(0) })).toMatchObject({ isPinned: true });
    expect(await ask().pin({ id: idOf(0) })).toMatchObject({ isPinned: true });
    const [key, ...more] = await words();
    expect(more).toEqual([]);
    expect(await readWord(key ?? "")).toMatchObject({
      run,
      checkpointId: idOf(0),
      by: "operator@example.com",
      ends: [],
      word: { kind: "pin" },
    });
    expect(await shown(idOf(0))).toMatchObject({ isPinned: true });
    expect(await ask().unpin({ id: idOf(0) })).toMatchObject({ isPinned: false });
    expect(await ask().unpin({ id: idOf(0) })).toMatchObject({ isPinned: false });
    const after = await words();
    expect(after).toHaveLength(2);
    const removal = await readWord(after.find((one) => one !== key) ?? "");
    expect(removal.ends).toEqual([(await readWord(key ?? "")).id]);
    expect(await audits()).toEqual([
      ["checkpoint pin", "step 100 of llama", "operator@example.com"],
      ["checkpoint unpin", "step 100 of llama", "operator@example.com"],
    ]);
  });

  it("is not there at all when the bucket did not take it", async () => {
    const { client } = await test.hub.stores.open(profileId);
    const send = client.send.bind(client);
    client.send = (() => Promise.reject(new Error("the link is down"))) as never;
    await expect(ask().pin({ id: idOf(0) })).rejects.toThrow();
    client.send = send as never;
    expect(await shown(idOf(0))).toMatchObject({ isPinned: false });
    expect(await test.hub.db.keepRecord.count()).toBe(0);
    expect(await audits()).toEqual([]);
  });

  it("lies under a key that no node gets a signature for", async () => {
    await ask().pin({ id: idOf(0) });
    const [key = ""] = await words();
    const operations: Operation[] = [
      { op: "put", key, sizeBytes: 1, crc32: "00000000", nonce: "n" },
      { op: "get", key, offset: 0, length: 1, etag: '"x"' },
      { op: "delete", key },
    ];
    for (const operation of operations) {
      const call = callAs(test.hub, node.caller).node.sign({ operations: [operation] });
      await expect(call).rejects.toThrow(fault("NOT_THIS_NODES"));
    }
  });
});

describe("a tag", () => {
  it("is on one checkpoint of a run: set again it moves, by one object", async () => {
    await ask().tag({ id: idOf(0), tag: "best" });
    await ask().tag({ id: idOf(0), tag: "release-1" });
    await ask().tag({ id: idOf(1), tag: "best" });
    expect(await words()).toHaveLength(3);
    expect((await shown(idOf(0))).tags).toEqual(["release-1"]);
    expect((await shown(idOf(1))).tags).toEqual(["best"]);
    await ask().untag({ id: idOf(1), tag: "best" });
    await ask().untag({ id: idOf(1), tag: "best" });
    expect((await shown(idOf(1))).tags).toEqual([]);
    expect((await shown(idOf(0))).tags).toEqual(["release-1"]);
    expect((await audits()).map(([, subject]) => subject)).toEqual([
      "best on step 100 of llama",
      "release-1 on step 100 of llama",
      "best on step 200 of llama",
      "best on step 200 of llama",
    ]);
  });

  it.each(["", "two words", "../up", "-x", "a/b", "x".repeat(33), "tab\t"])("is refused when it is %j", async (tag) => {
    await expect(ask().tag({ id: idOf(0), tag })).rejects.toThrow("a tag has");
    expect(await words()).toEqual([]);
  });
});

describe("a note", () => {
  const hostile = '<script>alert(1)</script>\u202e\n{"kind":"trash"}';

  it("is kept as it is, replaced by the next one, and taken away by an empty one", async () => {
    expect(await ask().note({ id: idOf(0), text: ` ${hostile} ` })).toMatchObject({ note: hostile });
    await ask().note({ id: idOf(0), text: "lr 3e-4" });
    expect(await shown(idOf(0))).toMatchObject({ note: "lr 3e-4", trash: null });
    expect(await ask().note({ id: idOf(0), text: "" })).toMatchObject({ note: null });
    expect(await words()).toHaveLength(3);
  });

  it("has a length, and no characters that end a text", async () => {
    await expect(ask().note({ id: idOf(0), text: "a\u0000b" })).rejects.toThrow("control characters");
    await expect(ask().note({ id: idOf(0), text: "x".repeat(2_001) })).rejects.toThrow("at most 2000");
  });
});

it("nothing is said of what is not complete, and nothing by a viewer", async () => {
  await test.hub.db.checkpoint.update({ where: { id: idOf(0) }, data: { state: "torn" } });
  await expect(ask().pin({ id: idOf(0) })).rejects.toThrow(fault("CHECKPOINT_INCOMPLETE"));
  await expect(ask().pin({ id: "no-such-checkpoint" })).rejects.toThrow(fault("NOT_FOUND"));
  await expect(callAs(test.hub, "viewer").checkpoints.pin({ id: idOf(1) })).rejects.toThrow(fault("ROLE_REQUIRED"));
});
