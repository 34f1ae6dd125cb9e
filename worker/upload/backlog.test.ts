import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ClaimAnswer } from "#protocol/wire/hello.ts";
import { runName } from "#protocol/base/names.ts";
import { runBacklog, type NodeEventBody } from "#protocol/wire/reports.ts";
import { riskOf } from "#protocol/wire/risk.ts";
import { reportLoss } from "../agent/report-loss.ts";
import { openTraining, type Training } from "../lost-work/training.ts";
import { readBacklog } from "./backlog.ts";
import { openLedger, type Ledger } from "../capture/ledger.ts";
import type { Run } from "../capture/runs.ts";
import { createUplink } from "../capture/uplink.ts";

const MIN = 60_000;
const HOUR = 60 * MIN;
const name = runName.parse("llama");
const bucketHas = (newest: { step: number; capturedAt: number } | null) =>
  ({ epoch: 1, parent: null, newest }) as unknown as ClaimAnswer;

let folder: string;
let ledger: Ledger;
let training: Training;
let run: Run;
let told: NodeEventBody[];
const uplink = createUplink({ running: () => null, before: () => null });
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-backlog-"));
  ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
  training = openTraining(join(folder, "training.json"), { records: { read: () => null }, wallNow: Date.now });
  run = { name, claim: bucketHas(null), over: null, seen: null };
  told = [];
});
afterEach(async () => {
  training.close();
  await ledger.close();
  await rm(folder, { recursive: true, force: true });
});

/** What this worker tells the hub, as the hub takes it. */
async function report() {
  const uploader = { active: null, uncommitted: new Map() } as unknown as Parameters<typeof readBacklog>[0]["uploader"];
  const runs = { all: () => [run] } as unknown as Parameters<typeof readBacklog>[0]["runs"];
  const [said] = await readBacklog({ ledger, runs, uploader, training, uplink });
  return runBacklog.parse(JSON.parse(JSON.stringify(said)));
}

/** What that puts at risk at `at`. */
const riskAt = async (at: number) => riskOf(await report(), at);

/** A program is started, and goes on from there. */
async function start(from: { step: number; at: number } | null, newest: { step: number; capturedAt: number } | null) {
  const reporter = { lost: () => undefined };
  const outbox = { add: (event: NodeEventBody) => Promise.resolve(void told.push(event)) };
  const agent = { training, outbox, ledger, reporter } as unknown as Parameters<typeof reportLoss>[0];
  await reportLoss(agent, { run: name, claim: bucketHas(newest), from });
}

test("before its first checkpoint the whole training of a program that runs is at risk, steps and all", async () => {
  const startedAt = await ledger.runStartedAt(name);
  await start(null, null);
  for (const minutes of [9, 11, 50]) {
    training.note(name, { step: minutes * 10, at: startedAt + minutes * MIN, epoch: 1 });
    const { lossMs, steps } = await riskAt(startedAt + minutes * MIN);
    expect({ minutes: Math.round(lossMs / MIN), steps }).toEqual({ minutes, steps: minutes * 10 });
  }
});

test("a program that goes on from a safe checkpoint of hours ago has lost nothing of the hours between", async () => {
  const writtenAt = Date.now() - 5 * HOUR;
  await ledger.noteSafe(name, { step: 400, at: writtenAt, sizeBytes: 1, epoch: 1 });
  run.seen = { step: 400, at: writtenAt, source: "name" };
  await start({ step: 400, at: writtenAt }, { step: 400, capturedAt: writtenAt });
  const startedAt = Date.now();
  training.note(name, { step: 430, at: startedAt + 20 * MIN, epoch: 1 });
  let risk = await riskAt(startedAt + 20 * MIN);
  expect({ minutes: Math.round(risk.lossMs / MIN), steps: risk.steps }).toEqual({ minutes: 20, steps: 30 });
  // Its next checkpoint is written, and not safe yet.
  run.seen = { step: 440, at: startedAt + 21 * MIN, source: "name" };
  risk = await riskAt(startedAt + 22 * MIN);
  expect({ minutes: Math.round(risk.lossMs / MIN), steps: risk.steps }).toEqual({ minutes: 22, steps: 40 });
  await ledger.noteSafe(name, { step: 440, at: startedAt + 21 * MIN, sizeBytes: 1, epoch: 1 });
  expect(Math.round((await riskAt(startedAt + 22 * MIN)).lossMs / MIN)).toBe(1);
});

test("what was trained before the stop and is not safe is at risk beside what was trained since", async () => {
  const safeAt = Date.now() - 5 * HOUR;
  await ledger.noteSafe(name, { step: 400, at: safeAt, sizeBytes: 1, epoch: 1 });
  await start({ step: 500, at: safeAt + 30 * MIN }, { step: 400, capturedAt: safeAt });
  const startedAt = Date.now();
  training.goesOn(name, startedAt + 10 * MIN);
  const risk = await riskAt(startedAt + 10 * MIN);
  expect({ minutes: Math.round(risk.lossMs / MIN), steps: risk.steps }).toEqual({ minutes: 40, steps: 100 });
});

test("an interruption after a long stop costs what was trained, not the stop", async () => {
  const writtenAt = Date.now() - 5 * HOUR;
  const from = { step: 400, at: writtenAt };
  await start(from, { step: 400, capturedAt: writtenAt });
  training.note(name, { step: 410, at: Date.now() + 3 * MIN, epoch: 1 });
  await start(from, { step: 400, capturedAt: writtenAt });
  expect(told).toMatchObject([{ type: "work-lost", fromStep: 400, lastStep: 410 }]);
  const [loss] = told;
  expect(Math.round((loss?.type === "work-lost" ? loss.lostMs : 0) / MIN)).toBe(3);
});

test("a checkpoint by time puts no steps at risk, and the hub is told that its step is a time", async () => {
  const safeAt = Date.now() - HOUR;
  const time = Math.floor(safeAt / 1_000);
  await ledger.noteSafe(name, { step: time, at: safeAt, sizeBytes: 1, epoch: 1, source: "time" });
  run.seen = { step: time + 600, at: safeAt + 10 * MIN, source: "time" };
  expect(await riskAt(safeAt + 10 * MIN)).toMatchObject({ steps: 0, lossMs: 10 * MIN });
  expect(await report()).toMatchObject({ safeStep: time, isSafeByTime: true, isLocalByTime: true });
  // So many steps were counted.
  await ledger.noteSafe(name, { step: time, at: safeAt, sizeBytes: 1, epoch: 1, source: "name" });
  run.seen = { step: time + 600, at: safeAt + 10 * MIN, source: "name" };
  expect(await riskAt(safeAt + 10 * MIN)).toMatchObject({ steps: 600 });
});
