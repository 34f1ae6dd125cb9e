import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { createDoubtfulCaptures } from "../capture/doubtful-captures.ts";
import { openLedger, type Ledger } from "../capture/ledger.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { doubtStored, tellDoubts } from "./doubt-stored.ts";

const run = runName.parse("llama");
const DOUBT = { run, checkpointId: "half", step: 20, why: "optim_20.pt was written after it was captured" };
let folder: string;
let ledger: Ledger;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-doubt-"));
  ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
  await ledger.noteSafe(run, { step: 10, at: 1, sizeBytes: 1, epoch: 1, checkpointId: "whole" });
  await ledger.noteSafe(run, { step: 20, at: 2, sizeBytes: 1, epoch: 1, checkpointId: "half" });
});
afterEach(async () => {
  await ledger.close();
  await rm(folder, { recursive: true, force: true });
});

/** `answer`: what the hub does with a doubt. */
function partsOf(answer: (input: unknown) => unknown, knows = true) {
  const said: unknown[] = [];
  const parts = {
    hub: createFakeHub({ doubt: answer }),
    session: { knows: () => knows },
    ledger,
    doubtful: createDoubtfulCaptures([]),
    reporter: { doubtedLate: (about: unknown) => void said.push(about), waitingFor: () => undefined },
  };
  return { parts: parts as unknown as Parameters<typeof doubtStored>[0], said };
}

test("a checkpoint that is half is safe no more from the first look on, is said once, and keeps the run from being all safe", async () => {
  const told: unknown[] = [];
  const { parts, said } = partsOf((input) => (told.push(input), { ok: true }));
  await doubtStored(parts, DOUBT);
  await doubtStored(parts, DOUBT);
  await tellDoubts(parts);
  expect(ledger.safe(run)?.step).toBe(10);
  expect(said).toEqual([DOUBT]);
  expect(told).toEqual([{ checkpointId: "half", why: DOUBT.why }]);
  expect(parts.doubtful.unresolved(run)).toEqual([{ run, step: 20, why: DOUBT.why, at: 2 }]);
  // An older hub keeps no such doubt.
  const older = partsOf(() => ({ ok: true }), false);
  await doubtStored(older.parts, { ...DOUBT, checkpointId: "whole" });
  expect([older.said, ledger.safe(run)?.step]).toEqual([[], 10]);
});

test("a doubt about a step after which a later one is safe leaves nothing to wait for", async () => {
  const { parts } = partsOf(() => ({ ok: true }));
  await doubtStored(parts, { ...DOUBT, checkpointId: "whole", step: 10 });
  expect(ledger.safe(run)?.step).toBe(20);
  expect(parts.doubtful.unresolved(run)).toEqual([]);
});

test("a doubt that nobody could be told of is told after a restart; one that is refused is not told again", async () => {
  const away = partsOf(() => {
    throw new Fault("HUB_UNREACHABLE", { op: "doubt" });
  });
  await doubtStored(away.parts, DOUBT);
  await tellDoubts(away.parts);
  await ledger.close();
  ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
  expect([...ledger.owedDoubts().keys()]).toEqual(["half"]);
  const refusing = partsOf(() => {
    throw new Fault("NOT_THIS_NODES", { op: "doubt" });
  });
  await tellDoubts(refusing.parts);
  expect(ledger.owedDoubts().size).toBe(0);
});
