import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DEFAULT_PACKING } from "#protocol/checkpoint/packing.ts";
import { runName } from "#protocol/base/names.ts";
import { traitsOf } from "#storage/providers/providers.ts";
import { torchFile } from "#storage/testing/torch-file.ts";
import { openOutbox, type Outbox } from "../hub-link/outbox.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { createFakeHub } from "../testing/fake-hub.ts";
import { keepCapturing, takeFinished, type Capturing } from "./keep-capturing.ts";
import { openLedger, type Ledger } from "./ledger.ts";
import { createRuns } from "./runs.ts";

const run = runName.parse("llama");
const SETTLE_MS = 2_000;
let folder: string;
let watched: string;
let outbox: Outbox;
let ledger: Ledger;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidemark-open-"));
  watched = join(folder, "watched");
  await mkdir(watched);
  outbox = await openOutbox(join(folder, "outbox.jsonl"), Date.now);
  ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
});
afterEach(async () => {
  await Promise.all([outbox.close(), ledger.close()]);
  await rm(folder, { recursive: true, force: true });
});

function capturing(about: Partial<Capturing> = {}): Capturing {
  return {
    watch: { folder: watched, run, takes: null },
    watchedSince: 0,
    settleMs: SETTLE_MS,
    unfinishedAfterMs: 300_000,
    ledger,
    runs: createRuns([run], { hub: createFakeHub({}), onOver: () => undefined }),
    outbox,
    captures: join(folder, "captures"),
    traits: () => traitsOf("minio"),
    partBytes: null,
    packing: () => DEFAULT_PACKING,
    disk: { withRoom: (_, copy) => copy() },
    signal: new AbortController().signal,
    until: new AbortController().signal,
    over: () => null,
    wallNow: Date.now,
    hubKnows: () => true,
    onSeen: () => undefined,
    onCaptured: () => undefined,
    onPassedOver: () => undefined,
    onRefused: () => undefined,
    onFault: (fault) => {
      throw fault;
    },
    ...about,
  };
}

/** Watches by a clock that each pause moves; `writes`: what the program writes when this many milliseconds have passed. */
async function watchFor(
  ms: number,
  writes: readonly (readonly [at: number, name: string, content?: Buffer])[],
  about: Partial<Capturing> = {},
): Promise<{ startedAt: number }> {
  const stop = new AbortController();
  const clock = createFakeClock();
  const startedAt = Date.now();
  const left = [...writes];
  const write = async () => {
    for (let [next] = left; next !== undefined && next[0] <= clock.now(); [next] = left) {
      await writeFile(join(watched, next[1]), next[2] ?? next[1]);
      left.shift();
    }
  };
  await write();
  const sleep = async (pauseMs: number) => {
    await clock.pass(pauseMs);
    await write();
    if (clock.now() > ms) stop.abort();
  };
  const wallNow = () => startedAt + clock.now();
  await keepCapturing(capturing({ clock: { ...clock, sleep }, wallNow, until: stop.signal, ...about }));
  return { startedAt };
}

const taken = () =>
  ledger.all().map(({ files, open, replacedBy, doubt }) => {
    const state = replacedBy !== undefined ? "replaced" : open != null ? "open" : "closed";
    return [...files.map(({ path }) => path).toSorted(), state, ...(doubt === undefined ? [] : [doubt])];
  });

test("the first step is captured at once and open, and replaced when its second file has come", async () => {
  await watchFor(20_000, [[0, "model_step_10.pt"]]);
  expect(taken()).toEqual([["model_step_10.pt", "open"]]);
  await watchFor(60_000, [[40_000, "optim_step_10.pt"]]);
  expect(taken()).toEqual([
    ["model_step_10.pt", "replaced"],
    ["model_step_10.pt", "optim_step_10.pt", "open"],
  ]);
});

test("a file that sorts before the first one joins its step too", async () => {
  await watchFor(60_000, [
    [0, "model_10.pt"],
    [40_000, "encoder_10.pt"],
  ]);
  expect(taken()).toEqual([
    ["model_10.pt", "replaced"],
    ["encoder_10.pt", "model_10.pt", "open"],
  ]);
});

test("the wait goes on while the next file of the step is written", async () => {
  const begun = Buffer.alloc(1_000);
  const { startedAt } = await watchFor(100_000, [
    [0, "ckpt_10.pt"],
    ...Array.from({ length: 60 }, (_, at) => [20_000 + at * 1_000, "optim_10.pt", begun.subarray(0, at)] as const),
  ]);
  expect(taken().at(0)).toEqual(["ckpt_10.pt", "replaced"]);
  const first = ledger.all()[0]?.open?.until ?? 0;
  expect(first).toBeGreaterThan(startedAt + 80_000);
});

test("a second step with the same files ends the wait", async () => {
  let closed = 0;
  await watchFor(
    30_000,
    [
      [0, "model_10.pt"],
      [15_000, "model_20.pt"],
    ],
    { onFilesKnown: () => void closed++ },
  );
  expect(taken()).toEqual([
    ["model_10.pt", "closed"],
    ["model_20.pt", "closed"],
  ]);
  expect(closed).toBe(1);
});

test("a first step that lacks what the second one has becomes doubtful", async () => {
  await watchFor(40_000, [
    [0, "model_10.pt"],
    [15_000, "model_20.pt"],
    [15_000, "optim_20.pt"],
  ]);
  expect(taken()).toEqual([
    ["model_10.pt", "closed", "optim_10.pt is missing, which the other steps have"],
    ["model_20.pt", "optim_20.pt", "closed"],
  ]);
});

test("a name that may be of a whole checkpoint waits 15 settle times, one of a part 150", async () => {
  const { startedAt } = await watchFor(10_000, [[0, "ckpt_10.pt"]]);
  const [any] = ledger.all();
  expect((any?.open?.until ?? 0) - startedAt).toBeLessThan(15 * SETTLE_MS + 10_000);
  await rm(join(watched, "ckpt_10.pt"));
  const second = await watchFor(10_000, [[0, "model_10.pt"]]);
  const part = ledger.all().at(-1);
  expect((part?.open?.until ?? 0) - second.startedAt).toBeGreaterThan(149 * SETTLE_MS);
  expect([any?.open?.isPart, part?.open?.isPart]).toEqual([false, true]);
});

test("a file that holds its optimizer, one that is written in place and one of a folder wait for nothing", async () => {
  await mkdir(join(watched, "in-place"));
  await watchFor(40_000, [
    [0, "model_10.pth", torchFile({ model: 1, optimizer: 2, iteration: 10 })],
    [10_000, "in-place/ckpt.pt"],
  ]);
  expect(taken()).toEqual([
    ["model_10.pth", "closed"],
    ["ckpt.pt", "closed"],
  ]);
});

test("the end of the program ends the wait; after a crash a part is doubtful, and what may be whole is not", async () => {
  await watchFor(10_000, [[0, "ckpt_10.pt"]], { over: () => "done" });
  expect(taken()).toEqual([["ckpt_10.pt", "closed"]]);
  await rm(join(watched, "ckpt_10.pt"));
  await watchFor(10_000, [[0, "model_20.pt"]], { over: () => "crashed" });
  expect(taken().at(-1)).toEqual([
    "model_20.pt",
    "closed",
    "its program ended before a second step showed which files belong to one",
  ]);
});

test("a program that says that its saves are complete ends the wait", async () => {
  await watchFor(10_000, [[0, "model_10.pt"]]);
  const parts = capturing({ wallNow: () => Date.now() + 86_400_000 });
  await takeFinished(parts, parts.signal);
  expect(taken()).toEqual([["model_10.pt", "closed"]]);
});

test("an open capture is open after a restart of the worker", async () => {
  await watchFor(10_000, [[0, "model_10.pt"]]);
  const [before] = ledger.all();
  await ledger.close();
  ledger = await openLedger(join(folder, "ledger.jsonl"), Date.now);
  expect(ledger.all()[0]?.open).toEqual(before?.open);
});

/** Ends all captures as committed. */
async function commitAll(): Promise<void> {
  for (const { id, state } of ledger.all()) {
    if (state === "done") continue;
    await ledger.move(id, "running", { by: "node", at: 1 });
    await ledger.move(id, "done", { by: "node", at: 2 });
  }
}

test("a committed step that lacks what the second one has is doubted afterwards", async () => {
  await watchFor(10_000, [[0, "model_10.pt"]]);
  const [first] = ledger.all();
  await commitAll();
  const doubts: [string, string][] = [];
  const onDoubt = ({ checkpointId, why }: { checkpointId: string; why: string }) =>
    void doubts.push([checkpointId, why]);
  await watchFor(
    20_000,
    [
      [0, "model_20.pt"],
      [0, "optim_20.pt"],
    ],
    { onDoubt },
  );
  expect(new Set(doubts.map((about) => about.join(" ")))).toEqual(
    new Set([`${first?.id} optim_10.pt is missing, which the other steps have`]),
  );
});

test("a committed step whose second file came after all is doubted, and one whose label moved is not", async () => {
  await watchFor(10_000, [[0, "model_10.pt"]]);
  await commitAll();
  const doubts: [string, string][] = [];
  const onDoubt = ({ checkpointId, why }: { checkpointId: string; why: string }) =>
    void doubts.push([checkpointId, why]);
  await watchFor(20_000, [[0, "last.pt"]], { onDoubt });
  await commitAll();
  expect(doubts).toEqual([]);
  const half = ledger.all().at(-1)?.id;
  await watchFor(20_000, [[0, "optim_10.pt"]], { onDoubt });
  expect(doubts.map(([id]) => id)).toContain(half);
  expect(doubts.at(-1)?.[1]).toBe("optim_10.pt was written after it was captured");
});

test("the late file of a committed step is told while it is written, and not when it is finished", async () => {
  await watchFor(10_000, [[0, "model_10.pt"]]);
  const [half] = ledger.all();
  await commitAll();
  const doubts: unknown[] = [];
  const onDoubt = (about: unknown) => void doubts.push(about);
  const begun = Buffer.alloc(1_000);
  // It changes at each look, so that nothing is captured.
  const written = Array.from({ length: 20 }, (_, at) => [at * 100, "optim_10.pt", begun.subarray(0, at)] as const);
  await watchFor(1_500, written, { onDoubt });
  expect(ledger.all()).toHaveLength(1);
  expect(doubts[0]).toEqual({ checkpointId: half?.id, step: 10, why: "optim_10.pt was written after it was captured" });
});

test("a wait that is over begins anew when a file of its step appears before it is committed", async () => {
  await watchFor(10_000, [[0, "model_10.pt"]]);
  const [half] = ledger.all();
  if (half === undefined) throw new Error("nothing was captured");
  await ledger.update(half.id, { open: null });
  const begun = Buffer.alloc(1_000);
  const written = Array.from({ length: 20 }, (_, at) => [at * 100, "optim_10.pt", begun.subarray(0, at)] as const);
  await watchFor(1_500, written);
  expect(taken()).toEqual([["model_10.pt", "open"]]);
  await watchFor(60_000, [[1_000, "optim_10.pt"]]);
  expect(taken()).toEqual([
    ["model_10.pt", "replaced"],
    ["model_10.pt", "optim_10.pt", "open"],
  ]);
});
