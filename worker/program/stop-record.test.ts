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
const TRAPPING = one(10, { name: "sh" });
const BY_TERM = { code: null, signal: "SIGTERM" } as const;

/** Records a stop of these processes below a shell, and tells whether it was orderly. */
function judge(
  all: readonly Tellable[],
  {
    signal = "SIGTERM",
    statuses = {},
    isKilled = false,
    shell = SHELL,
    orphans = [],
  }: {
    signal?: NodeJS.Signals;
    statuses?: Readonly<Record<number, number>>;
    isKilled?: boolean;
    shell?: Tellable;
    orphans?: readonly number[];
  } = {},
): boolean {
  const record = createStopRecord();
  record.told([shell, ...all], [shell, ...all], signal);
  for (const pid of orphans) record.orphaned(pid);
  for (const [pid, status] of Object.entries(statuses)) record.ended({ pid: Number(pid), status });
  if (isKilled) record.killed();
  return record.isOrderly({ pid: SHELL.pid, end: BY_TERM });
}

const below = (about: Partial<Tellable> = {}) => one(11, { parent: SHELL.pid, ...about });

test("is orderly where what trains below the shell had a handler, and ended with 0, or the shell was there to see its end", () => {
  expect(judge([below()], { statuses: { 11: 0 } })).toBe(true);
  expect(judge([below()], { shell: TRAPPING })).toBe(true);
});

test("is not where nobody saw how a training ended that outlived its shell", () => {
  expect(judge([below()])).toBe(false);
  expect(judge([below()], { shell: TRAPPING, orphans: [11] })).toBe(false);
  expect(judge([below()], { shell: TRAPPING, orphans: [11], statuses: { 11: 0 } })).toBe(true);
});

test("is not where one had no handler, failed, or was killed, nor where only the shell is known", () => {
  expect(judge([one(11), one(12, { catches: false })])).toBe(false);
  expect(judge([one(11)], { statuses: { 11: 256 } })).toBe(false);
  expect(judge([one(11)], { isKilled: true })).toBe(false);
  expect(judge([])).toBe(false);
});

test("does not depend on a reader of the training's output", () => {
  const tee = one(12, { name: "tee", catches: false, reads: "pipe:[7]" });
  expect(judge([below({ writes: ["pipe:[7]"] }), tee], { statuses: { 11: 0 } })).toBe(true);
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
