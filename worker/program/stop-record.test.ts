import { expect, test } from "vitest";
import type { Tellable } from "./choose-told.ts";
import { createStopRecord } from "./stop-record.ts";

const one = (pid: number, about: Partial<Tellable> = {}): Tellable => ({
  pid,
  parent: 1,
  session: 10,
  startedAt: String(pid),
  name: "python",
  catches: true,
  isBackground: false,
  reads: null,
  writes: [],
  ...about,
});
const SHELL = one(10, { name: "sh", catches: false });
const BY_TERM = { code: null, signal: "SIGTERM" } as const;

/** Records a stop of these processes below a shell, and tells whether it was orderly. */
function judge(
  all: readonly Tellable[],
  {
    signal = "SIGTERM",
    statuses = {},
    isKilled = false,
  }: {
    signal?: NodeJS.Signals;
    statuses?: Readonly<Record<number, number>>;
    isKilled?: boolean;
  } = {},
): boolean {
  const record = createStopRecord();
  record.told([SHELL, ...all], [SHELL, ...all], signal);
  for (const [pid, status] of Object.entries(statuses)) record.ended({ pid: Number(pid), status });
  if (isKilled) record.killed();
  return record.isOrderly({ pid: SHELL.pid, end: BY_TERM });
}

test("is orderly where what trains below the shell had a handler, and ended with 0 or with nobody knows what", () => {
  expect(judge([one(11)], { statuses: { 11: 0 } })).toBe(true);
  expect(judge([one(11)])).toBe(true);
});

test("is not where one had no handler, failed, or was killed, nor where only the shell is known", () => {
  expect(judge([one(11), one(12, { catches: false })])).toBe(false);
  expect(judge([one(11)], { statuses: { 11: 256 } })).toBe(false);
  expect(judge([one(11)], { isKilled: true })).toBe(false);
  expect(judge([])).toBe(false);
});

test("does not depend on a reader of the training's output", () => {
  const tee = one(12, { name: "tee", catches: false, reads: "pipe:[7]" });
  expect(judge([one(11, { writes: ["pipe:[7]"] }), tee])).toBe(true);
});

test("after SIGINT a handler says nothing, and the status of the training has to be known", () => {
  expect(judge([one(11)], { signal: "SIGINT" })).toBe(false);
  expect(judge([one(11)], { signal: "SIGINT", statuses: { 11: 0 } })).toBe(true);
});

test("a program without a shell is judged by its own exit code", () => {
  const record = createStopRecord();
  record.told([one(11)], [one(11)], "SIGTERM");
  expect(record.isOrderly({ pid: 11, end: { code: 1, signal: null } })).toBe(false);
});
