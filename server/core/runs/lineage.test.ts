import { expect, it } from "vitest";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { claim, node, other, pairForEach, test } from "#server/testing/pair-for-each.ts";
import { announce, makeSafe, run } from "#server/testing/stage-checkpoint.ts";

pairForEach();

const lineage = () => callAs(test.hub, "viewer").runs.lineage({ run });

it("tells who wrote which steps, and from where each went on", async () => {
  const { epoch: first } = await claim(node);
  await makeSafe(test.hub, node, { epoch: first, step: 100 });
  await makeSafe(test.hub, node, { epoch: first, step: 200 });
  await announce(test.hub, node, { epoch: first, step: 300 });
  const { epoch: second } = await claim(other);
  await makeSafe(test.hub, other, { epoch: second, step: 250 });
  await announce(test.hub, other, { epoch: second, step: 350 });
  const view = await lineage();
  expect(view.epochs).toMatchObject([
    {
      epoch: second,
      nodeName: "gpu-2",
      endedAt: null,
      parent: { epoch: first, step: 200 },
      firstStep: 250,
      lastStep: 250,
      complete: 1,
      unfinished: 0,
    },
    {
      epoch: first,
      nodeName: "gpu-1",
      endedAt: view.epochs[0]?.claimedAt,
      parent: null,
      firstStep: 100,
      lastStep: 200,
      complete: 2,
      unfinished: 1,
    },
  ]);
  expect(view).toMatchObject({ omitted: 0, refusals: { total: 0, newest: [] } });
});

it("tells of what a node that came back too late was not let write", async () => {
  await claim(node);
  await claim(other);
  const at = test.hub.now();
  const ended = { seq: 1, at, type: "transfer-ended" as const, transferId: newId(), direction: "upload" as const };
  const about = { state: "failed" as const, checkpointId: newId(), run, step: 300, startedBy: "queue" as const };
  const amounts = { bytes: 1, files: 1, sentBytes: 0, startedAt: at, retries: 0, connections: 0 };
  await callAs(test.hub, node.caller).node.record({
    events: [{ ...ended, ...about, ...amounts, fault: { code: "EPOCH_OVER" } }],
  });
  const { refusals } = await lineage();
  expect(refusals).toMatchObject({ total: 1, newest: [{ nodeName: "gpu-1", step: 300 }] });
});

it("is of no run that is not there", async () => {
  await expect(lineage()).rejects.toEqual(fault("NOT_FOUND"));
});
