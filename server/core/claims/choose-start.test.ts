import { describe, expect, it } from "vitest";
import type { ClaimFrom } from "#protocol/wire/hello.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { abandonAgain } from "../runs/abandon-newer.ts";
import { completeBefore, newestComplete, newestOfEach, newestOfStep } from "../runs/newest.ts";
import { claim, node, other, pairForEach, profileId, test } from "#server/testing/pair-for-each.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { keysOf } from "#server/testing/test-bucket.ts";

pairForEach();

const start = (who: TestNode, from: ClaimFrom) => callAs(test.hub, who.caller).node.claimEpoch({ run, from });
const save = (epoch: number, step: number) => makeSafe(test.hub, node, { epoch, step });
const rows = async () =>
  (await test.hub.db.checkpoint.findMany({ where: { run }, orderBy: [{ writerEpoch: "asc" }, { step: "asc" }] })).map(
    ({ writerEpoch, step, abandonedAt }) => [writerEpoch, Number(step), abandonedAt === null ? "counts" : "abandoned"],
  );

async function saveThree(): Promise<void> {
  await claim(node);
  for (const step of [100, 200, 300]) await save(1, step);
}

describe("a run that a person starts from an earlier step", () => {
  it("opens an epoch there, and what is newer stays and is not the newest any more", async () => {
    await saveThree();
    expect(await start(node, 100)).toMatchObject({
      epoch: 2,
      parent: { epoch: 1, step: 100 },
      newest: { step: 100 },
      from: { isNew: true },
    });
    expect(await rows()).toEqual([
      [1, 100, "counts"],
      [1, 200, "abandoned"],
      [1, 300, "abandoned"],
    ]);
    expect(Number((await newestComplete(test.hub.db, run))?.step)).toBe(100);
    expect(Number((await newestOfEach(test.hub.db)).get(run)?.step)).toBe(100);
    // It can still be had by its number.
    expect(Number((await newestOfStep(test.hub.db, run, 300))?.step)).toBe(300);
    // No interruption: a person wanted it.
    expect(await test.hub.db.loss.count()).toBe(0);
  });

  it("goes on with what was saved since when the same is asked again, by whatever node", async () => {
    await saveThree();
    await start(node, 100);
    await save(2, 150);
    expect(await start(node, 100)).toMatchObject({ epoch: 2, newest: { step: 150 }, from: { isNew: false } });
    expect(await start(other, 100)).toMatchObject({
      epoch: 3,
      parent: { epoch: 2, step: 150 },
      from: { isNew: false },
    });
  });

  it("opens an epoch also where that step is the newest: a later one may still be on its way", async () => {
    await saveThree();
    expect(await start(node, 300)).toMatchObject({ epoch: 2, parent: { epoch: 1, step: 300 }, from: { isNew: true } });
  });

  it("may choose a step that was left behind before, which counts again then", async () => {
    await saveThree();
    await start(node, 100);
    expect(await start(node, 300)).toMatchObject({ epoch: 3, parent: { epoch: 1, step: 300 }, newest: { step: 300 } });
    expect(await rows()).toEqual([
      [1, 100, "counts"],
      [1, 200, "abandoned"],
      [1, 300, "counts"],
    ]);
  });

  it("is told which steps there are when that one does not exist", async () => {
    await saveThree();
    await expect(start(node, 7)).rejects.toEqual(fault("NOT_FOUND"));
    await expect(start(node, 7)).rejects.toThrow(/the newest are 300, 200, 100/);
    expect(await test.hub.db.epoch.count()).toBe(1);
  });
});

describe("a run that a person starts from its beginning", () => {
  it("has no newest until it saves, and goes on from that at the next start", async () => {
    await saveThree();
    expect(await start(node, "beginning")).toMatchObject({ epoch: 2, parent: null, newest: null });
    await save(2, 10);
    expect(await start(node, "beginning")).toMatchObject({ newest: { step: 10 }, from: { isNew: false } });
  });

  it("that is new keeps what it saves when its container is started again with the same command", async () => {
    expect(await start(node, "beginning")).toMatchObject({ epoch: 1, newest: null });
    await save(1, 10);
    expect(await start(node, "beginning")).toMatchObject({ epoch: 1, newest: { step: 10 }, from: { isNew: false } });
  });
});

it("a database that was rebuilt from the bucket abandons the same steps", async () => {
  await saveThree();
  await start(node, 100);
  await save(2, 120);
  await start(node, 300);
  const before = await rows();
  expect(await keysOf(test.hub, profileId, "team/epochs/")).toHaveLength(3);
  await test.hub.db.checkpoint.updateMany({ data: { abandonedAt: null } });
  await test.hub.db.$transaction((tx) => abandonAgain(tx, run));
  expect(await rows()).toEqual(before);
});

it("the step before is asked for by its number, and is never one that was left behind", async () => {
  await saveThree();
  const ask = (before: number) => callAs(test.hub, node.caller).node.findCheckpoint({ run, before });
  expect(await ask(300)).toMatchObject({ step: 200, isBefore: true });
  expect(await ask(100)).toBeNull();
  await start(node, 100);
  await save(2, 250);
  expect(await ask(250)).toMatchObject({ step: 100 });
  const row = await newestOfStep(test.hub.db, run, 300);
  expect(row === null ? null : Number((await completeBefore(test.hub.db, row))?.step)).toBe(100);
});
