import { describe, expect, it } from "vitest";
import { NO_RULES } from "#protocol/retention/keeping.ts";
import { keepFolder } from "#protocol/checkpoint/keys.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import { profileId, store, test } from "#server/testing/pair-for-each.ts";
import { run } from "#server/testing/stage-checkpoint.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { mayDelete } from "./may-delete.ts";
import { rebuild } from "#server/features/maintenance/rebuild.ts";
import { rebuildFrom, tools, toolsForEach } from "#server/testing/tools-for-each.ts";
import type { Tools } from "#server/features/maintenance/command-line/tools.ts";
import { emptyDue } from "#server/features/retention/empty-trash.ts";
import { findKeeping } from "./find-keeping.ts";
import { historyForEach, idOf } from "#server/testing/history-for-each.ts";

const DAY_MS = 86_400_000;
historyForEach(4);
toolsForEach();

const ask = () => callAs(test.hub, "operator").checkpoints;
const rebuildNow = () => rebuildFrom(store);
const put = async (key: string, text: string) => {
  const { client } = await test.hub.stores.open(profileId);
  await putObjectText(client, { bucket: "training", key, text });
};
/** What is said and how it stands with each, apart from how long the trash keeps. */
async function told({ db }: Pick<Tools, "db">) {
  const keeping = await findKeeping(db, { run });
  const rows = await db.checkpoint.findMany({ orderBy: { step: "asc" } });
  return rows.map(({ id, step, state }) => {
    const { trash, ...rest } = keeping.get(id) ?? { trash: null };
    return { step: Number(step), state, ...rest, why: trash?.why };
  });
}

describe("a hub that is rebuilt from its bucket", () => {
  it("knows every pin, tag, note and what is in the trash, and what was taken back", async () => {
    await ask().pin({ id: idOf(0) });
    await ask().pin({ id: idOf(1) });
    await ask().unpin({ id: idOf(1) });
    await ask().tag({ id: idOf(0), tag: "best" });
    await ask().tag({ id: idOf(2), tag: "best" });
    await ask().note({ id: idOf(3), text: "first" });
    await ask().note({ id: idOf(3), text: "second" });
    await ask().trash({ id: idOf(1) });
    const before = await told(test.hub);
    expect(before).toEqual([
      { step: 100, state: "complete", isPinned: true, tags: [], note: null, why: undefined },
      { step: 200, state: "trashed", isPinned: false, tags: [], note: null, why: "by operator@example.com" },
      { step: 300, state: "complete", isPinned: false, tags: ["best"], note: null, why: undefined },
      { step: 400, state: "complete", isPinned: false, tags: [], note: "second", why: undefined },
    ]);
    expect(await rebuildNow()).toMatchObject({ checkpoints: 4, refused: 0 });
    expect(await told(tools)).toEqual(before);
    // Read again, nothing changes.
    await rebuild(tools, { profileName: "training" });
    expect(await told(tools)).toEqual(before);
  });

  it("has every object that it cannot read as a pin, and names it", async () => {
    const beside = (index: number) => keepFolder("team/", { run, checkpointId: idOf(index) });
    await put(`${beside(0)}x`, "not json");
    await put(`${beside(1)}11111111-pin.json`, JSON.stringify({ format: "tidemark.keeping", version: 2 }));
    await put(`${beside(2)}11111111-end.json`, `"${"x".repeat(70_000)}"`);
    await put(`team/keeping/${run}/beside-nothing`, "{}");
    const found = await rebuildNow();
    expect(found).toMatchObject({ checkpoints: 4, refused: 4 });
    expect((await told(tools)).map((one) => one.isPinned ?? false)).toEqual([true, true, true, false]);
  });

  it("has no pin of what a person took away although it could not be read", async () => {
    for (const [name, index] of [
      ["a", 0],
      ["z", 0],
      ["z", 1],
    ] as const) {
      await put(`${keepFolder("team/", { run, checkpointId: idOf(index) })}${name}`, "not json");
    }
    await expect(ask().trash({ id: idOf(0) })).rejects.toThrow("pinned");
    await ask().unpin({ id: idOf(0) });
    await rebuildNow();
    expect((await told(tools)).map((one) => one.isPinned ?? false)).toEqual([false, true, false, false]);
  });

  it("keeps what was in the trash for another week, and deletes nothing until a person has confirmed", async () => {
    const policy = { ...NO_RULES, trashMs: DAY_MS };
    await callAs(test.hub, "operator").keeping.setPolicy({ run, policy, version: 0 });
    await ask().trash({ id: idOf(1) });
    const untilIn = async ({ db }: Pick<Tools, "db">) =>
      (await db.keepRecord.findFirstOrThrow({ where: { kind: "trash" } })).until?.getTime() ?? 0;
    const said = await untilIn(test.hub);
    await rebuildNow();
    expect((await untilIn(tools)) - said).toBeGreaterThanOrEqual(6 * DAY_MS);
    expect(await mayDelete(tools)).toBe(false);
  });

  it("does not ask for what is said of checkpoints that are gone, and no tag comes back with them", async () => {
    await ask().tag({ id: idOf(0), tag: "best" });
    await ask().tag({ id: idOf(1), tag: "best" });
    await ask().untag({ id: idOf(1), tag: "best" });
    await ask().trash({ id: idOf(1) });
    test.advance(8 * DAY_MS);
    await emptyDue(test.hub, () => false);
    expect(await rebuildNow()).toMatchObject({ checkpoints: 3, refused: 0 });
    expect((await told(tools)).map(({ step, tags }) => [step, tags ?? []])).toEqual([
      [100, []],
      [300, []],
      [400, []],
    ]);
    expect(await tools.db.keepRecord.count({ where: { kind: "trash" } })).toBe(0);
  });
});

describe("a hub restored from a backup", () => {
  it("knows that a checkpoint was given up after it, and does not offer it", async () => {
    await ask().trash({ id: idOf(1) });
    test.advance(8 * DAY_MS);
    const row = await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id: idOf(1) }, include: { content: true } });
    await emptyDue(test.hub, () => false);
    // As the backup has it.
    const { content, ...columns } = row;
    await test.hub.db.checkpoint.create({ data: { ...columns, state: "complete" } });
    if (content !== null) await test.hub.db.checkpointContent.create({ data: content });
    await rebuild({ ...tools, ...test.hub, signer: test.signer }, { profileName: "training" });
    expect((await told(test.hub)).map(({ state }) => state)).toEqual(["complete", "trashed", "complete", "complete"]);
    await expect(ask().bringBack({ id: idOf(1) })).rejects.toThrow("its deletion has begun");
  });
});
