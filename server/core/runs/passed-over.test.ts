import { beforeEach, describe, expect, it } from "vitest";
import { ALERT_SETTLE_MS } from "#protocol/alerts/alerts.ts";
import type { LineBranch } from "#protocol/checkpoint/line-branch.ts";
import { NO_RULES } from "#protocol/retention/keeping.ts";
import { evaluate } from "#server/features/alerts/evaluate.ts";
import { emptyDue } from "#server/features/retention/empty-trash.ts";
import { applyPolicies } from "#server/features/retention/apply-policy.ts";
import { idOf, historyForEach } from "#server/testing/history-for-each.ts";
import { fault } from "#server/testing/match-fault.ts";
import { callAs } from "#server/testing/open-test-hub.ts";
import { node, other, store, test } from "#server/testing/pair-for-each.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { stepsIn } from "#server/testing/stage-history.ts";
import { rebuildFrom, tools, toolsForEach } from "#server/testing/tools-for-each.ts";
import { findPassedOver } from "./passed-over.ts";

// The run has steps 100, 200 and 300 of epoch 1, and its program was given step 300.
historyForEach(3);
toolsForEach();

const BRANCH: LineBranch = { from: { epoch: 1, step: 300 }, after: { epoch: 1, step: 300 }, step: 50 };
let seq = 0;
beforeEach(() => {
  seq = 0;
});

const tell = (who = node, wrote?: string) =>
  callAs(test.hub, who.caller).node.record({
    events: [
      {
        seq: (seq += 1),
        at: 1,
        type: "began-elsewhere",
        run,
        writerEpoch: 1,
        given: { epoch: 1, step: 300 },
        fromStep: null,
        path: "/w/checkpoint-300",
        ...(wrote !== undefined && { wrote, isAgain: true as const }),
      },
    ],
  });
const beginLine = () => callAs(test.hub, node.caller).node.claimEpoch({ run, isLine: true, branch: BRANCH });
const view = () => callAs(test.hub, "viewer").runs.get({ run });
const passedOver = async () => (await view()).passedOver.map(({ given }) => given);
const alerts = async () => {
  await evaluate(test.hub);
  test.advance(ALERT_SETTLE_MS);
  await evaluate(test.hub);
  const { rows } = await callAs(test.hub, "viewer").alerts.active({});
  return rows.filter(({ kind }) => kind === "began-elsewhere").map(({ nodeName, text }) => `${nodeName} ${text}`);
};
const SENTENCE =
  "gpu-1 saw that the program of llama was given step 300 and began at the beginning: it looks for its checkpoint somewhere else than /w/checkpoint-300";

describe("a program that did not continue from what it was given", () => {
  it("is told at once by an event, on the pages of run and node and by an alert, and nobody else may say so", async () => {
    await tell(other);
    expect(await passedOver()).toEqual([]);
    await tell();
    expect(await view()).toMatchObject({
      passedOver: [{ given: { epoch: 1, step: 300 }, fromStep: null, path: "/w/checkpoint-300", nodeName: "gpu-1" }],
    });
    const asked = { nodeId: null, run, cursor: null, limit: 20, kinds: ["began-elsewhere"] };
    const { rows } = await callAs(test.hub, "viewer").events.list(asked);
    expect(rows.map(({ nodeName, text }) => `${nodeName} ${text}`)).toEqual([SENTENCE]);
    expect(await alerts()).toEqual([SENTENCE]);
  });

  it("is told with what it wrote as soon as that is known, without a second event", async () => {
    await tell();
    const [first] = (await view()).passedOver;
    test.advance(60_000);
    await tell(node, "/w/version_1/epoch=0-step=50.ckpt");
    expect((await view()).passedOver).toEqual([{ ...first, wrote: "/w/version_1/epoch=0-step=50.ckpt" }]);
    const asked = { nodeId: null, run, cursor: null, limit: 20, kinds: ["began-elsewhere"] };
    expect((await callAs(test.hub, "viewer").events.list(asked)).rows).toHaveLength(1);
    expect((await alerts())[0]).toContain("it writes to version_1/epoch=0-step=50.ckpt and most likely looks there");
  });

  it("counts once, by its word and by the line that it begins, which says where it branches off", async () => {
    await tell();
    expect(await beginLine()).toMatchObject({ epoch: 2, parent: null, branch: BRANCH });
    expect(await passedOver()).toEqual([{ epoch: 1, step: 300 }]);
    expect((await view()).epochs.map(({ branch }) => branch)).toEqual([BRANCH, null]);
    const { epochs } = await callAs(test.hub, "viewer").runs.lineage({ run });
    expect(epochs.map(({ branch }) => branch)).toEqual([BRANCH, null]);
    const made = await makeSafe(test.hub, node, { epoch: 2, step: 50 });
    expect(await callAs(test.hub, "viewer").checkpoints.get({ id: made.checkpointId })).toMatchObject({
      branch: BRANCH,
    });
  });

  it("is known from the bucket alone, after the database was lost", async () => {
    await beginLine();
    await makeSafe(test.hub, node, { epoch: 2, step: 50 });
    await rebuildFrom(store);
    expect(await findPassedOver(tools.db, run)).toMatchObject([{ given: { epoch: 1, step: 300 }, epoch: 1 }]);
  });

  it("keeps its restored line whole until the new one passes it", async () => {
    const keeping = callAs(test.hub, "operator").keeping;
    await keeping.setPolicy({ run, policy: { ...NO_RULES, last: 1 }, version: 0 });
    await beginLine();
    for (const step of [50, 100]) await makeSafe(test.hub, node, { epoch: 2, step });
    await applyPolicies(test.hub, () => false);
    expect(await stepsIn(test, "trashed")).toEqual([50]);
    const [row] = (await keeping.preview({ run, policy: null }))[0]?.rows.filter(({ step }) => step === 200) ?? [];
    expect(row?.because).toContainEqual({ kind: "passed-over", step: 300 });
    await expect(callAs(test.hub, "operator").checkpoints.trash({ id: idOf(0) })).rejects.toThrow(
      fault("CHECKPOINT_KEPT"),
    );
    await makeSafe(test.hub, node, { epoch: 2, step: 300 });
    expect(await passedOver()).toEqual([]);
    await applyPolicies(test.hub, () => false);
    expect(await stepsIn(test, "trashed")).toEqual([50, 100, 100, 200]);
  });

  it("matters no more when a person has dismissed it, and again with the next one", async () => {
    await tell();
    await beginLine();
    test.advance(1);
    await callAs(test.hub, "operator").runs.seeLines({ run });
    expect(await passedOver()).toEqual([]);
    expect(await alerts()).toEqual([]);
    await expect(callAs(test.hub, "operator").runs.seeLines({ run: "nothing" })).rejects.toThrow(fault("NOT_FOUND"));
    test.advance(1);
    await tell();
    expect(await passedOver()).toEqual([{ epoch: 1, step: 300 }]);
  });

  it("matters no more when a person has chosen another start", async () => {
    await beginLine();
    await callAs(test.hub, node.caller).node.claimEpoch({ run, from: 200 });
    expect(await passedOver()).toEqual([]);
  });

  it("keeps what lies in the trash of its restored line", async () => {
    const operator = callAs(test.hub, "operator");
    await operator.checkpoints.trash({ id: idOf(0) });
    await tell();
    test.advance(40 * 86_400_000);
    await emptyDue(test.hub, () => false);
    expect(await stepsIn(test, "trashed")).toEqual([100]);
    await operator.runs.seeLines({ run });
    await emptyDue(test.hub, () => false);
    expect(await stepsIn(test, "trashed")).toEqual([]);
  });
});
