import { expect, it } from "vitest";
import { fault } from "#server/testing/match-fault.ts";
import { callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { announce, makeSafe, manifestOf, run, upload } from "#server/testing/stage-checkpoint.ts";

pairForEach();

const branch = { from: null, after: { epoch: 1, step: 200 }, step: 50 };
const beginLine = (who: TestNode) => callAs(test.hub, who.caller).node.claimEpoch({ run, isLine: true, branch });
const stateOf = async (id: string) => (await test.hub.db.checkpoint.findUniqueOrThrow({ where: { id } })).state;

it("takes what a node captured before its program began anew as a checkpoint of the line before", async () => {
  await claim(node);
  const sent = await announce(test.hub, node, { epoch: 1, step: 190 });
  const etags = await upload(test.hub, node, sent);
  expect((await beginLine(node)).epoch).toBe(2);
  expect(await stateOf(sent.checkpointId)).toBe("uploading");
  await callAs(test.hub, node.caller).node.commit({ manifest: manifestOf(test.hub, node, { staged: sent, etags }) });
  await makeSafe(test.hub, node, { epoch: 2, step: 50 });
  const late = await makeSafe(test.hub, node, { epoch: 1, step: 200 });
  expect(await stateOf(late.checkpointId)).toBe("complete");
  const { checkpoints, newestStep } = await callAs(test.hub, "viewer").runs.get({ run });
  expect(newestStep).toBe(50);
  expect((await callAs(test.hub, "viewer").homes.get({ run })).homes.map((one) => one.newestStep)).toEqual([50]);
  expect(checkpoints.map(({ writerEpoch, step }) => [writerEpoch, step])).toEqual([
    [2, 50],
    [1, 200],
    [1, 190],
  ]);
});

it("returns the open line to a node that asks again because no answer came", async () => {
  await claim(node);
  expect((await beginLine(node)).epoch).toBe(2);
  expect((await beginLine(node)).epoch).toBe(2);
  const later = { ...branch, after: { epoch: 2, step: 200 } };
  const asked = callAs(test.hub, node.caller).node.claimEpoch({ run, isLine: true, branch: later });
  expect((await asked).epoch).toBe(3);
});

it("says where the earlier line started, and refuses it once another node has taken the run over", async () => {
  await claim(node);
  await beginLine(node);
  const asked = {
    checkpointId: "checkpoint-of-old",
    run,
    writerEpoch: 1,
    step: 200,
    attempt: "abcdefabcdef",
    framework: null,
    capturedAt: 1,
    files: [{ path: "model.pt", sizeBytes: 1 }],
  };
  const announced = () => callAs(test.hub, node.caller).node.announce(asked);
  for (let tries = 0; tries < 2; tries++)
    expect(await announced()).toEqual({ ok: true, earlier: { parent: null, next: branch } });
  await callAs(test.hub, "operator").runs.handOver({ run, nodeId: other.nodeId });
  await claim(other);
  await expect(announced()).rejects.toThrow(fault("EPOCH_OVER"));
  expect(await stateOf(asked.checkpointId)).toBe("torn");
});
