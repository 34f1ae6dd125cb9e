import { expect, test, vi } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { beginLine } from "./begin-line.ts";

const run = runName.parse("llama");
const REACHED = { step: 200, at: 5_000, epoch: 3, sizeBytes: 1, isExact: true };

const NOON = Date.UTC(2026, 10, 30, 12);
/** A checkpoint by time: its step is in seconds since 1970. */
const BY_TIME = { ...REACHED, step: NOON / 1_000, at: NOON };

/** The run has reached step 200 in epoch 3. */
function partsOf(about: { knowsLine?: boolean; begun?: number; reached?: typeof REACHED } = {}) {
  const begin = vi.fn(async () => ({ epoch: 4 }));
  const parts = {
    runs: { get: () => ({ claim: { epoch: 3 } }), beginLine: begin },
    ledger: { all: () => [], safe: () => about.reached ?? REACHED, writerEpoch: () => 3 },
    beginnings: new Map(),
    session: { knows: () => about.knowsLine ?? true },
    reporter: { lineBegun: vi.fn(), waitingFor: vi.fn() },
    linesBegun: new Map(about.begun === undefined ? [] : [[run, about.begun]]),
  };
  return { parts: parts as unknown as Parameters<typeof beginLine>[0], begin };
}

const written = (step: number, mtimeMs: number, stepFrom?: "time") =>
  ({
    candidate: { path: "/w/ckpt.pt", name: "ckpt.pt", step, kind: "file", ...(stepFrom && { stepFrom }) },
    look: { files: [{ relative: "ckpt.pt", mtimeMs }], newestMs: mtimeMs },
  }) as unknown as Parameters<typeof beginLine>[2];

test("a lower step in newer files opens a line of its own", async () => {
  const { parts, begin } = partsOf();
  await beginLine(parts, run, written(30, 6_000));
  expect(begin).toHaveBeenCalledTimes(1);
  expect(parts.reporter.lineBegun).toHaveBeenCalledWith({ run, step: 30, after: 200, epoch: 4 });
});

test.each([
  ["a higher step goes on", {}, written(210, 6_000)],
  ["an older checkpoint that was touched again is not trained now", {}, written(30, 4_000)],
  ["a time of writing is no step", {}, written(30, 6_000, "time")],
  ["a step after a time of writing is no lower one", { reached: BY_TIME }, written(30, NOON + 1_000)],
  ["an older hub keeps one line", { knowsLine: false }, written(30, 6_000)],
  ["two programs that write one run in turns open no lines without end", { begun: 16 }, written(30, 6_000)],
])("%s: no line is opened", async (_, about, checkpoint) => {
  const { parts, begin } = partsOf(about);
  await beginLine(parts, run, checkpoint);
  expect(begin).not.toHaveBeenCalled();
});
