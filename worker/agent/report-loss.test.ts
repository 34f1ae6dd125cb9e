import { expect, test } from "vitest";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import { runName } from "#protocol/base/names.ts";
import type { NodeEventBody } from "#protocol/wire/reports.ts";
import { reportLoss } from "./report-loss.ts";

const run = runName.parse("story");
const claimed = (changes: Partial<ClaimAnswer> = {}): ClaimAnswer => ({
  epoch: 2,
  parent: { epoch: 1, step: 500 },
  newest: { checkpointId: "checkpoint-500", run, writerEpoch: 1, step: 500, capturedAt: 1_000_000 },
  ...changes,
});

/** What the hub is told when a node goes on from `from`. */
async function told(
  from: { step: number; at: number } | null,
  about: { claim?: ClaimAnswer; noted?: { step: number; at: number } } = {},
): Promise<NodeEventBody[]> {
  const { claim = claimed(), noted = null } = about;
  const events: NodeEventBody[] = [];
  const parts = {
    training: { reached: () => noted, note: () => undefined },
    outbox: { add: async (event: NodeEventBody) => void events.push(event) },
    ledger: { runStartedAt: async () => 400_000 },
    reporter: { lost: () => undefined },
  };
  await reportLoss(parts as unknown as Parameters<typeof reportLoss>[0], { run, claim, from });
  return events;
}

test("a node that takes over and goes on from the newest tells nothing: the hub knows", async () => {
  expect(await told({ step: 500, at: 1_000_000 })).toEqual([]);
});

test("one that has to go further back tells how far", async () => {
  expect(await told({ step: 400, at: 900_000 })).toEqual([
    expect.objectContaining({ writerEpoch: 2, fromStep: 400, lastStep: 500, lostSteps: 100, lostMs: 100_000 }),
  ]);
  expect(await told(null)).toEqual([expect.objectContaining({ fromStep: null, lastStep: 500, lostMs: 600_000 })]);
});

test("what was noted in this epoch goes before, and of an epoch that went on nothing is guessed", async () => {
  const noted = { step: 520, at: 1_050_000 };
  expect(await told({ step: 500, at: 1_000_000 }, { noted })).toEqual([expect.objectContaining({ lastStep: 520 })]);
  const newest = { checkpointId: "checkpoint-600", run, writerEpoch: 2, step: 600, capturedAt: 1_200_000 };
  expect(await told({ step: 500, at: 1_000_000 }, { claim: claimed({ newest }) })).toEqual([]);
});
