import { describe, expect, it } from "vitest";
import { callAs } from "#server/testing/open-test-hub.ts";
import { readHistory } from "#server/features/retention/read-history.ts";
import { completeBefore, newestComplete, newestOfEach, newestOfRole, newestOfStep } from "./newest.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { makeSafe, run, type Staged } from "#server/testing/stage-checkpoint.ts";

pairForEach();

/** Steps 100 and 200 of the first epoch, 200 and 300 of the second. */
async function twoEpochs() {
  await claim(node);
  const made: Staged[] = [];
  for (const step of [100, 200]) made.push(await makeSafe(test.hub, node, { epoch: 1, step }));
  await claim(other);
  for (const step of [200, 300]) made.push(await makeSafe(test.hub, other, { epoch: 2, step }));
  return made.map(({ checkpointId }) => checkpointId);
}
const damage = (id: string | undefined) =>
  test.hub.db.checkpoint.update({ where: { id: id ?? "" }, data: { damagedAt: new Date(1), damage: null } });
const trash = (id: string | undefined) =>
  test.hub.db.checkpoint.update({ where: { id: id ?? "" }, data: { state: "trashed" } });
const newest = async () => (await newestComplete(test.hub.db, run))?.id;
const ofStep = async (step: number) => (await newestOfStep(test.hub.db, run, step))?.id;

describe("the newest checkpoint", () => {
  it("is never one that is damaged or in the trash while there is another", async () => {
    const [first, second, third, fourth] = await twoEpochs();
    expect(await newest()).toBe(fourth);
    await damage(fourth);
    expect(await newest()).toBe(third);
    await trash(second);
    await damage(third);
    expect(await newest()).toBe(first);
    await damage(first);
    expect(await newest()).toBe(fourth);
  });

  it("of a step is the one of the highest epoch that is whole", async () => {
    const [, second, third] = await twoEpochs();
    expect(await ofStep(200)).toBe(third);
    await damage(third);
    expect(await ofStep(200)).toBe(second);
    await trash(second);
    expect(await ofStep(200)).toBe(third);
  });

  it("before another one passes over the damaged and the trashed", async () => {
    const [first, second, third, fourth] = await twoEpochs();
    const row = await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id: fourth ?? "" } });
    await damage(third);
    await trash(second);
    expect((await completeBefore(test.hub.db, row))?.id).toBe(first);
    await damage(first);
    expect(await completeBefore(test.hub.db, row)).toBeNull();
  });

  it("is never a final model, which is found by its role and outlives every rule of retention", async () => {
    const [first, , third, fourth] = await twoEpochs();
    for (const id of [first, fourth])
      await test.hub.db.checkpoint.update({ where: { id: id ?? "" }, data: { role: "final-model" } });
    expect(await newest()).toBe(third);
    expect((await newestOfEach(test.hub.db)).get(run)?.id).toBe(third);
    const asked = callAs(test.hub, other.caller).node.findCheckpoint({ run, role: "final-model" });
    expect(await asked).toMatchObject({ checkpointId: fourth, role: "final-model" });
    const { checkpoints } = await readHistory(test.hub.db, run);
    expect(checkpoints.map(({ id }) => id)).not.toContain(fourth);
    // Before it comes an earlier final model, not a checkpoint.
    const row = await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id: fourth ?? "" } });
    expect((await completeBefore(test.hub.db, row))?.id).toBe(first);
  });

  it("of a role is the newest of the most trusted kind, and the text of a doubt says nothing of time", async () => {
    const ids = await twoEpochs();
    const set = (index: number, data: { doubt?: string; damagedAt?: Date }) =>
      test.hub.db.checkpoint.update({ where: { id: ids[index] ?? "" }, data: { role: "final-model", ...data } });
    const found = async () => ids.indexOf((await newestOfRole(test.hub.db, run, "final-model"))?.id ?? "");
    expect(await found()).toBe(-1);
    await set(3, { doubt: "z", damagedAt: new Date(1) });
    expect(await found()).toBe(3);
    // Damaged bytes cannot be restored, while a doubtful one may be whole.
    await set(2, { damagedAt: new Date(2) });
    expect(await found()).toBe(2);
    await set(0, { doubt: "a shard is missing" });
    expect(await found()).toBe(0);
    await set(1, { doubt: "the index is missing" });
    expect(await found()).toBe(1);
    await test.hub.db.checkpoint.update({ where: { id: ids[0] ?? "" }, data: { doubt: null } });
    expect(await found()).toBe(0);
  });

  it("is what a node that takes over, or asks for it, is told", async () => {
    const [, , third, fourth] = await twoEpochs();
    await damage(fourth);
    expect(await callAs(test.hub, other.caller).node.findCheckpoint({ run })).toMatchObject({ checkpointId: third });
    expect((await claim(node)).newest).toMatchObject({ checkpointId: third, step: 200 });
  });
});
