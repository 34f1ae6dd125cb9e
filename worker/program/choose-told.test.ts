import { expect, test } from "vitest";
import { chooseHeldBack, chooseTold, type Tellable } from "./choose-told.ts";

const one = (pid: number, parent: number, about: Partial<Tellable> = {}): Tellable => ({
  pid,
  parent,
  session: 10,
  startedAt: String(pid),
  name: "python",
  catches: true,
  isBackground: false,
  reads: null,
  writes: [],
  ...about,
});
const told = (all: readonly Tellable[], signal: NodeJS.Signals = "SIGTERM") =>
  chooseTold(all, { roots: [10], signal }).map(({ pid }) => pid);

test("a program with a handler is told, and what it started is its own to tell", () => {
  expect(told([one(10, 1), one(11, 10), one(12, 11)])).toEqual([10]);
});

test("what a shell without a trap started is told with it, but not the reader of its output", () => {
  const shell = one(10, 1, { name: "sh", catches: false });
  const tee = one(12, 10, { name: "tee", catches: false, reads: "pipe:[7]" });
  expect(told([shell, one(11, 10, { writes: ["pipe:[7]"] }), tee])).toEqual([10, 11]);
});

test("of a shell with a trap the command in its foreground is told, and one in its background is left to the trap", () => {
  const shell = one(10, 1, { name: "bash" });
  expect(told([shell, one(11, 10), one(12, 10, { isBackground: true })])).toEqual([10, 11]);
});

test("a launcher that would die of it is told, and all below it", () => {
  expect(told([one(10, 1, { name: "conda", catches: false }), one(11, 10, { catches: false }), one(12, 11)])).toEqual([
    10, 11, 12,
  ]);
});

test("a signal by which programs agree on something goes past a shell that would die of it", () => {
  const shell = one(10, 1, { name: "sh", catches: false });
  expect(told([shell, one(11, 10)], "SIGUSR1")).toEqual([11]);
  expect(told([shell], "SIGUSR1")).toEqual([10]);
});

test("what a told shell with a trap has in its background is found for later, and what another launcher has is not", () => {
  const shell = one(10, 1, { name: "bash" });
  const all = [shell, one(11, 10), one(12, 10, { isBackground: true }), one(13, 12)];
  const heldBack = (told: (pid: number) => boolean) =>
    chooseHeldBack(all, { told: ({ pid }) => told(pid), signal: "SIGTERM" }).map(({ pid }) => pid);
  expect(heldBack(() => true)).toEqual([12]);
  expect(heldBack((pid) => pid !== 10)).toEqual([]);
  const launcher = [{ ...shell, name: "torchrun" }, one(12, 10, { isBackground: true })];
  expect(chooseHeldBack(launcher, { told: () => true, signal: "SIGTERM" })).toEqual([]);
});
