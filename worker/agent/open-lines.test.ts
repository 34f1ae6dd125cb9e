import { expect, test, vi } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { createLineOpener } from "./open-lines.ts";

const run = runName.parse("llama");

test("lines that wait are opened once, the oldest first, each after the epoch before it", async () => {
  const line = (after: number, step: number) => ({ from: null, after: { epoch: 0, step: after }, step });
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
  };
  const open = createLineOpener(parts as unknown as Parameters<typeof createLineOpener>[0]);
  await Promise.all([open(run), open(run)]);
  expect(begin.mock.calls).toEqual([
    [run, { ...line(200, 30), after: { epoch: 7, step: 200 } }],
    [run, { ...line(40, 5), after: { epoch: 8, step: 40 } }],
  ]);
  expect(captures.map(({ id, epoch, newLine }) => [id, epoch, newLine ?? null])).toEqual([
    ["e", 9, null],
    ["a", 7, null],
    ["b", 8, null],
    ["c", 8, null],
  ]);
});

test("a line whose answer came late is not opened a second time", async () => {
  const line = { from: null, after: { epoch: 0, step: 200 }, step: 30 };
  const captures = [{ id: "a", run, capturedAt: 1, epoch: null, newLine: line }];
  const begin = vi.fn(async () => ({ epoch: 9 }));
  const update = async (_: string, change: object) => void Object.assign(captures[0] ?? {}, change);
  const parts = {
    runs: {
      epochOf: async () => ({ epoch: 8, branch: { ...line, after: { epoch: 7, step: 200 } } }),
      beginLine: begin,
    },
    ledger: { all: () => captures, update },
    reporter: { lineBegun: vi.fn() },
  };
  await createLineOpener(parts as unknown as Parameters<typeof createLineOpener>[0])(run);
  expect([begin.mock.calls.length, captures[0]?.epoch]).toEqual([0, 8]);
});
