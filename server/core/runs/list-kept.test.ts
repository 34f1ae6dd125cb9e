import { expect, it } from "vitest";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";

pairForEach();

const kept = async () =>
  (await callAs(test.hub, other.caller).node.listKept({ run })).map(
    ({ writerEpoch, step }) => `${writerEpoch}:${step}`,
  );

it("lists what is kept of the line that a run goes on with, newest first, and nothing that an earlier line trained beyond it", async () => {
  await claim(node);
  for (const step of [100, 200]) await makeSafe(test.hub, node, { epoch: 1, step });
  await claim(other);
  for (const step of [300, 400]) await makeSafe(test.hub, other, { epoch: 2, step });
  expect(await kept()).toEqual(["2:400", "2:300", "1:200", "1:100"]);
  await callAs(test.hub, other.caller).node.claimEpoch({ run, from: 200 });
  await makeSafe(test.hub, other, { epoch: 3, step: 250 });
  expect(await kept()).toEqual(["3:250", "1:200", "1:100"]);
  await test.hub.db.checkpoint.updateMany({ where: { run, step: 100n }, data: { state: "trashed" } });
  await test.hub.db.checkpoint.updateMany({ where: { run, step: 250n }, data: { damagedAt: new Date(1) } });
  expect(await kept()).toEqual(["1:200"]);
});

it("lists nothing of a line that has no parent", async () => {
  await claim(node);
  await makeSafe(test.hub, node, { epoch: 1, step: 100 });
  await claim(other);
  await callAs(test.hub, other.caller).node.claimEpoch({ run, from: "beginning" });
  expect(await kept()).toEqual([]);
});

it("lists a run only to the node that writes it", async () => {
  await claim(node);
  await expect(callAs(test.hub, other.caller).node.listKept({ run })).rejects.toEqual(fault("NOT_THIS_NODES"));
});
