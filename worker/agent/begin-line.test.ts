import { expect, test, vi } from "vitest";
import { runName } from "#protocol/base/names.ts";
import type { StepSource } from "#protocol/checkpoint/place.ts";
import type { NodeEventBody } from "#protocol/wire/reports.ts";
import type { Beginning } from "../lost-work/beginning.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { beginLine } from "./begin-line.ts";
import { judgeBeginning } from "./judge-beginning.ts";

const run = runName.parse("llama");
const REACHED: Reached = { step: 200, at: 5_000, epoch: 3, sizeBytes: 1 };

const NOON = Date.UTC(2026, 10, 30, 12);
/** A checkpoint by time: its step is in seconds since 1970. */
const BY_TIME: Reached = { step: NOON / 1_000, at: NOON, epoch: 3, sizeBytes: 1, source: "time" };

interface Reached {
  step: number;
  at: number;
  epoch: number;
  sizeBytes: number;
  source?: StepSource;
  place?: { path: string; kind: "file" };
}

interface About {
  features?: readonly string[];
  begun?: number;
  reached?: Reached | null;
  beginning?: Beginning;
  group?: { rank: number; of: number };
  written?: { step: number; at: number; epoch: number };
  captures?: object[];
  /** Piece that waits for those of other nodes. */
  piece?: Reached;
}

/** The run has reached step 200 in epoch 3. */
function partsOf(about: About = {}) {
  const { features = ["line", "branch"], reached = REACHED, group = null } = about;
  const begin = vi.fn(async () => ({ epoch: 4 }));
  const events: NodeEventBody[] = [];
  const updates: unknown[] = [];
  const parts = {
    options: { group },
    hub: { isUp: true },
    runs: { get: () => ({ claim: { epoch: 3, newest: null } }), epochOf: async () => ({ epoch: 3 }), beginLine: begin },
    ledger: {
      all: () => about.captures ?? [],
      update: async (...change: unknown[]) => void updates.push(change),
      reached: () => (about.written === undefined ? [] : [about.written]),
      safe: () => reached,
      piece: () => about.piece ?? null,
      writerEpoch: () => 3,
      runStartedAt: async () => 0,
    },
    beginnings: new Map(about.beginning === undefined ? [] : [[run, about.beginning]]),
    session: { knows: (feature: string) => features.includes(feature) },
    reporter: { lineBegun: vi.fn(), waitingFor: vi.fn(), beganElsewhere: vi.fn(), lost: vi.fn() },
    outbox: { add: async (event: NodeEventBody) => void events.push(event) },
    openLines: async () => undefined,
    linesBegun: new Map(about.begun === undefined ? [] : [[run, about.begun]]),
    openedLines: new Map(),
  };
  return { parts: parts as unknown as Parameters<typeof beginLine>[0], begin, events, updates };
}

const written = (step: number, mtimeMs: number, stepFrom?: "time") =>
  ({
    candidate: { path: "/w/ckpt.pt", name: "ckpt.pt", step, kind: "file", ...(stepFrom && { stepFrom }) },
    look: { files: [{ relative: "ckpt.pt", mtimeMs }], newestMs: mtimeMs },
  }) as unknown as Parameters<typeof beginLine>[2];

const given = (about: Partial<Beginning["given"]> = {}): Beginning => ({
  epoch: 3,
  given: { step: 200, at: 5_000, epoch: 2, path: "/w/checkpoint-200", source: "name", ...about },
  local: [],
  startedAt: 5_500,
});

test("a lower step in newer files opens a line of its own, which says after what", async () => {
  const { parts, begin } = partsOf();
  await beginLine(parts, { run }, written(30, 6_000));
  const branch = { from: null, after: { epoch: 3, step: 200 }, step: 30 };
  expect(begin).toHaveBeenCalledExactlyOnceWith(run, branch);
  expect(parts.reporter.lineBegun).toHaveBeenCalledWith({ run, epoch: 4, branch });
});

test("the line branches off from what the program was given, also when a word has shown before that it began elsewhere", async () => {
  const { parts, begin, events } = partsOf({ reached: null, beginning: given() });
  await judgeBeginning(parts, run, { step: 0, by: "word" });
  expect(events.map(({ type }) => type)).toEqual(["began-elsewhere", "work-lost"]);
  await beginLine(parts, { run }, written(30, 6_000));
  expect(begin).toHaveBeenCalledExactlyOnceWith(run, {
    from: { epoch: 2, step: 200 },
    after: { epoch: 3, step: 200 },
    step: 30,
  });
  // Said once, by the word, and then what the program wrote.
  expect(events.slice(2)).toMatchObject([{ type: "began-elsewhere", wrote: "/w/ckpt.pt", isAgain: true }]);
});

test("a group of nodes opens a line where the hub knows how, by the pieces that this node wrote", async () => {
  const about = { group: { rank: 1, of: 2 }, reached: null, written: { step: 200, at: 5_000, epoch: 3 } };
  const { parts, begin } = partsOf(about);
  await beginLine(parts, { run }, written(30, 6_000));
  expect(begin).toHaveBeenCalledTimes(1);
  const older = partsOf({ ...about, features: ["line"] });
  await beginLine(older.parts, { run }, written(30, 6_000));
  expect(older.begin).not.toHaveBeenCalled();
});

test("a piece that was captured before its epoch was known, and waits for those of other nodes, is reached too", async () => {
  const { parts, begin } = partsOf({ group: { rank: 1, of: 2 }, reached: null, piece: REACHED });
  await beginLine(parts, { run }, written(30, 6_000));
  expect(begin).toHaveBeenCalledTimes(1);
});

test("a step after nothing but times of writing begins a line, when they lay there before the program started", async () => {
  const beginning = { ...given({ ...BY_TIME }), startedAt: NOON + 500 };
  const { parts, begin } = partsOf({ reached: BY_TIME, beginning });
  await beginLine(parts, { run }, written(30, NOON + 1_000));
  const time = { step: NOON / 1_000, isByTime: true };
  expect(begin).toHaveBeenCalledExactlyOnceWith(run, {
    from: { epoch: 3, ...time },
    after: { epoch: 3, ...time },
    step: 30,
  });
  // A program that writes both keeps one line.
  const both = partsOf({ reached: BY_TIME, beginning: { ...beginning, startedAt: NOON - 500 } });
  await beginLine(both.parts, { run }, written(30, NOON + 1_000));
  expect(both.begin).not.toHaveBeenCalled();
});

test.each([
  ["base.pt", true],
  ["last.pt", false],
  ["ckpt.pt", false],
])(
  "a step after %s alone, which says none, begins a line where no program continues from that: %s",
  async (path, begins) => {
    const { parts, begin } = partsOf({ reached: { ...BY_TIME, place: { path, kind: "file" } } });
    await beginLine(parts, { run }, written(30, NOON + 1_000));
    expect(begin).toHaveBeenCalledTimes(begins ? 1 : 0);
  },
);

test.each<[string, About, ReturnType<typeof written>]>([
  ["a higher step goes on", {}, written(210, 6_000)],
  ["an older checkpoint that was touched again is not trained now", {}, written(30, 4_000)],
  ["a time of writing is no step", {}, written(30, 6_000, "time")],
  ["a step after a time of writing is no lower one", { reached: BY_TIME }, written(30, NOON + 1_000)],
  ["an older hub keeps one line", { features: [] }, written(30, 6_000)],
  ["two programs that write one run in turns open no lines without end", { begun: 16 }, written(30, 6_000)],
])("%s: no line is opened", async (_, about, checkpoint) => {
  const { parts, begin } = partsOf(about);
  await beginLine(parts, { run }, checkpoint);
  expect(begin).not.toHaveBeenCalled();
});

test("a step of that size that was counted is reached, whatever the clock says", async () => {
  const { parts, begin } = partsOf({ reached: { ...BY_TIME, source: "name" } });
  await beginLine(parts, { run }, written(30, NOON + 1_000));
  expect(begin).toHaveBeenCalledTimes(1);
});

test("what was captured before the hub could be asked belongs to the line that ends", async () => {
  const captures = [
    { id: "of-old", run, epoch: null, step: 190, capturedAt: 4_000 },
    { id: "of-other", run: "other", epoch: null, step: 7, capturedAt: 4_000 },
  ];
  const { parts, begin, updates } = partsOf({ captures });
  begin.mockImplementation(async () => {
    expect(updates).toEqual([["of-old", { epoch: 3 }]]);
    return { epoch: 4 };
  });
  await beginLine(parts, { run }, written(30, 6_000));
  expect(begin).toHaveBeenCalledTimes(1);
});

test("while the hub cannot be asked the step gets a line of its own, and a lower one after it another", async () => {
  const captures: { run: string; step: number; capturedAt: number; epoch: null; newLine?: unknown }[] = [];
  const { parts, begin } = partsOf({ captures });
  begin.mockRejectedValue(new Fault("HUB_UNREACHABLE", { op: "claimEpoch" }));
  const take = async (step: number, at: number) => {
    const line = await beginLine(parts, { run }, written(step, at));
    captures.push({ run, step, capturedAt: at, epoch: null, ...(line !== null && { newLine: line }) });
    return line;
  };
  const first = await take(30, 6_000);
  expect(first).toMatchObject({ from: null, after: { epoch: 3, step: 200 }, step: 30 });
  expect(await take(40, 7_000)).toEqual(first);
  const second = await take(5, 8_000);
  // Its epoch before is that of a line that waits too.
  expect(second).toMatchObject({ from: null, after: { epoch: 0, step: 40 }, step: 5 });
  expect(await take(6, 9_000)).toEqual(second);
  // A crash loop: the third life writes the same steps as the second one.
  const third = await take(5, 10_000);
  expect(third).toMatchObject({ after: { epoch: 0, step: 6 }, step: 5 });
  expect(new Set([first?.id, second?.id, third?.id]).size).toBe(3);
});

test("a line that the hub refuses for now is kept for later, and a final model goes with the checkpoints before it", async () => {
  const captures: object[] = [];
  const { parts, begin } = partsOf({ captures });
  begin.mockRejectedValue(new Fault("ACCESS_DENIED", { op: "claimEpoch" }));
  const line = await beginLine(parts, { run }, written(30, 6_000));
  expect(line).toMatchObject({ step: 30 });
  captures.push({ run, step: 30, capturedAt: 6_000, epoch: null, newLine: line });
  const final = written(0, 7_000);
  Object.assign(final.candidate, { role: "final-model" });
  expect(await beginLine(parts, { run }, final)).toEqual(line);
  begin.mockRejectedValue(new Fault("EPOCH_OVER", { op: "claimEpoch" }));
  captures.length = 0;
  await expect(beginLine(parts, { run }, written(30, 6_000))).rejects.toMatchObject({ code: "EPOCH_OVER" });
});

test("captures that fail begin no line each, so that they do not use up the limit", async () => {
  const { parts, begin } = partsOf();
  begin.mockRejectedValue(new Fault("HUB_UNREACHABLE", { op: "claimEpoch" }));
  for (let tries = 0; tries < 40; tries++)
    expect(await beginLine(parts, { run }, written(30, 6_000))).toMatchObject({ step: 30 });
  const { parts: many, begin: never } = partsOf({
    captures: Array.from({ length: 16 }, (_, at) => ({
      run,
      step: 1,
      capturedAt: at,
      epoch: null,
      newLine: { id: `${at}` },
    })),
  });
  expect(await beginLine(many, { run }, written(0, 6_000))).toEqual({ id: "15" });
  expect(never).not.toHaveBeenCalled();
});
