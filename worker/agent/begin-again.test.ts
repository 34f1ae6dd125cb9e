import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import type { NodeEventBody } from "#protocol/wire/reports.ts";
import { beginAgain } from "./begin-again.ts";
import type { TrainedPoint } from "../lost-work/training.ts";

const run = runName.parse("story");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidemark-begin-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function saved(step: number): void {
  mkdirSync(join(folder, `checkpoint-${step}`));
  writeFileSync(join(folder, `checkpoint-${step}`, "trainer_state.json"), JSON.stringify({ global_step: step }));
}

/** What the hub is told, and what is known of training, when a program says `step` first after one that came to `last`. */
async function told(
  step: number,
  about: { last?: number; safe?: number; epoch?: number | null; preparesRuns?: boolean } = {},
): Promise<{ events: NodeEventBody[]; point: TrainedPoint | null }> {
  const { last = null, safe = null, epoch = 2, preparesRuns = false } = about;
  const events: NodeEventBody[] = [];
  let point: TrainedPoint | null = last === null ? null : { step: last, at: 1_000_000, epoch };
  const parts = {
    preparesRuns,
    options: { watches: [{ run, folder, takes: () => true }] },
    watchedSince: new Map([[run, 0]]),
    runs: { get: () => undefined },
    training: { of: () => point, note: (_: string, one: TrainedPoint) => (point = one) },
    outbox: { add: async (event: NodeEventBody) => void events.push(event) },
    ledger: {
      writerEpoch: () => epoch,
      safe: () => (safe === null ? null : { step: safe, at: 900_000 }),
      runStartedAt: async () => 400_000,
      knows: () => false,
      isRestored: () => false,
      isUnfinished: () => false,
    },
    reporter: { lost: () => undefined, waitingFor: () => undefined },
  };
  await beginAgain(parts as unknown as Parameters<typeof beginAgain>[0], { run, step });
  return { events, point };
}

test("what lies between the last step and the newest checkpoint up to the first one was lost", async () => {
  saved(120);
  const { events, point } = await told(101, { last: 137, safe: 100 });
  expect(events).toEqual([
    expect.objectContaining({ fromStep: 100, lastStep: 137, lostSteps: 37, lostMs: 100_000, writerEpoch: 2 }),
  ]);
  expect(point).toMatchObject({ step: 101, epoch: 2, resumed: { fromAt: null } });
});

test("a checkpoint that is only here counts, and is still at risk", async () => {
  saved(120);
  const { events, point } = await told(121, { last: 137, safe: 100 });
  expect(events).toEqual([expect.objectContaining({ fromStep: 120, lostSteps: 17 })]);
  expect(point?.resumed?.fromAt).toBeGreaterThan(0);
});

test("a program that begins from nothing lost everything", async () => {
  expect((await told(1, { last: 137, safe: 100 })).events).toEqual([
    expect.objectContaining({ fromStep: null, lostSteps: 137, lostMs: 600_000 }),
  ]);
});

test("one that had saved all it did lost nothing, wherever it goes on", async () => {
  expect((await told(1, { last: 100, safe: 100 })).events).toEqual([]);
  expect((await told(101, { last: 100, safe: 100 })).events).toEqual([]);
});

test("nothing is told of a first start, without an epoch, or where the worker puts runs in place itself", async () => {
  expect(await told(1)).toMatchObject({ events: [], point: { step: 1 } });
  expect(await told(1, { last: 137, epoch: null })).toMatchObject({ events: [], point: { step: 1, epoch: null } });
  expect(await told(1, { last: 137, preparesRuns: true })).toMatchObject({ events: [], point: { step: 137 } });
});
