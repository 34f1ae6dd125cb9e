import { expect, test, vi } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { createLineOpener, openLine } from "./open-lines.ts";

const run = runName.parse("llama");

test("lines that wait are opened once, the oldest first, each after the epoch before it", async () => {
  const line = (after: number, step: number, epoch = 0) => ({
    id: `${after}-${step}`,
    from: null,
    after: { epoch, step: after },
    step,
  });
  const branch = (after: number, step: number, epoch: number) => ({ from: null, after: { epoch, step: after }, step });
  const captures = [
    { id: "e", run, capturedAt: 5, epoch: null, newLine: line(40, 5) },
    { id: "a", run, capturedAt: 1, epoch: null },
    { id: "b", run, capturedAt: 2, epoch: null, newLine: line(200, 30) },
    { id: "c", run, capturedAt: 3, epoch: null, newLine: line(200, 30) },
  ];
  let present = 7;
  const begin = vi.fn(async () => ({ epoch: ++present }));
  const update = async (id: string, change: object) =>
    void Object.assign(captures.find((one) => one.id === id) ?? {}, change);
  const parts = {
    runs: { epochOf: async () => ({ epoch: present }), beginLine: begin },
    ledger: { all: () => captures, update },
    reporter: { lineBegun: vi.fn() },
    linesBegun: new Map(),
    openedLines: new Map(),
  };
  const open = createLineOpener(parts as unknown as Parameters<typeof createLineOpener>[0]);
  await Promise.all([open(run), open(run)]);
  expect(begin.mock.calls).toEqual([
    [run, branch(200, 30, 7)],
    [run, branch(40, 5, 8)],
  ]);
  expect(captures.map(({ id, epoch, newLine }) => [id, epoch, newLine ?? null])).toEqual([
    ["e", 9, null],
    ["a", 7, null],
    ["b", 8, null],
    ["c", 8, null],
  ]);
});

test("a line whose answer came late is not opened a second time", async () => {
  const line = { id: "line", from: null, after: { epoch: 7, step: 200 }, step: 30 };
  const captures = [{ id: "a", run, capturedAt: 1, epoch: null, newLine: line }];
  const begin = vi.fn(async () => ({ epoch: 9 }));
  const update = async (_: string, change: object) => void Object.assign(captures[0] ?? {}, change);
  const parts = {
    runs: {
      epochOf: async () => ({ epoch: 8, branch: { from: null, after: line.after, step: 30 } }),
      beginLine: begin,
    },
    ledger: { all: () => captures, update },
    reporter: { lineBegun: vi.fn() },
    linesBegun: new Map(),
    openedLines: new Map(),
  };
  await createLineOpener(parts as unknown as Parameters<typeof createLineOpener>[0])(run);
  expect([begin.mock.calls.length, captures[0]?.epoch]).toEqual([0, 8]);
});

test("a line for whose answer its capture did not wait is opened once, also when it did not know the epoch before it", async () => {
  const line = { id: "line", from: null, after: { epoch: 0, step: 20 }, step: 10 };
  const captures: { id: string; run: string; capturedAt: number; epoch: number | null; newLine: unknown }[] = [];
  const answer = Promise.withResolvers<undefined>();
  let present: object = { epoch: 1 };
  const begin = vi.fn(async (_: string, branch: object) => {
    await answer.promise;
    present = { epoch: 2, branch };
    return { epoch: 2 };
  });
  const update = async (_: string, change: object) => void Object.assign(captures[0] ?? {}, change);
  const parts = {
    runs: { epochOf: async () => present, beginLine: begin },
    ledger: { all: () => captures, update },
    reporter: { lineBegun: vi.fn() },
    linesBegun: new Map(),
    openedLines: new Map(),
  } as unknown as Parameters<typeof createLineOpener>[0];
  const late = openLine(parts, run, line);
  captures.push({ id: "a", run, capturedAt: 1, epoch: null, newLine: line });
  const opening = createLineOpener(parts)(run);
  answer.resolve(undefined);
  expect(await late).toBe(2);
  await opening;
  expect([begin.mock.calls.length, captures[0]?.epoch, captures[0]?.newLine]).toEqual([1, 2, null]);

  // The same after a start of another process, which asks the hub where the run is.
  Object.assign(captures[0] ?? {}, { epoch: null, newLine: line });
  const restarted = { ...parts, linesBegun: new Map(), openedLines: new Map() };
  await createLineOpener(restarted)(run);
  expect([begin.mock.calls.length, captures[0]?.epoch]).toEqual([1, 2]);
});

test.each([
  ["another node took the run over", undefined],
  ["a later line began elsewhere", { from: null, after: { epoch: 8, step: 9 }, step: 3 }],
])("lines that wait belong to the epoch before them once %s", async (_, branch) => {
  const line = (id: string, epoch: number) => ({ id, from: null, after: { epoch, step: 200 }, step: 30 });
  const captures = [
    { id: "a", run, capturedAt: 1, epoch: null, newLine: line("one", 7) },
    { id: "b", run, capturedAt: 2, epoch: null, newLine: line("two", 0) },
  ];
  const begin = vi.fn(async () => ({ epoch: 10 }));
  const update = async (id: string, change: object) =>
    void Object.assign(captures.find((one) => one.id === id) ?? {}, change);
  const parts = {
    runs: { epochOf: async () => ({ epoch: 9, branch }), beginLine: begin },
    ledger: { all: () => captures, update },
    reporter: { lineBegun: vi.fn() },
    linesBegun: new Map(),
    openedLines: new Map(),
  };
  await createLineOpener(parts as unknown as Parameters<typeof createLineOpener>[0])(run);
  expect(begin).not.toHaveBeenCalled();
  expect(captures.map(({ epoch, newLine }) => [epoch, newLine])).toEqual([
    [7, null],
    [7, null],
  ]);
});
