import { expect, test } from "vitest";
import { judgeOver } from "./judge-over.ts";

const about = { isStop: true, descendants: { hasEndedInOrder: () => false }, interruptedAtMs: null };
const BY_INT = { code: null, signal: "SIGINT" } as const;

test("an exit with 0, and a stop in which all ended in order, are orderly; any other end is a crash", () => {
  expect(judgeOver({ code: 0, signal: null }, about)).toBe("done");
  const isOrderly = { ...about, descendants: { hasEndedInOrder: () => true } };
  expect(judgeOver({ code: null, signal: "SIGTERM" }, isOrderly)).toBe("done");
  expect(judgeOver({ code: 5, signal: null }, { ...isOrderly, isStop: false })).toBe("crashed");
  expect(judgeOver({ code: null, signal: "SIGTERM" }, about)).toBe("crashed");
});

test("of an interruption the time counts, unless something is left or the program failed in another way", () => {
  const interrupted = { ...about, interruptedAtMs: 7 };
  expect(judgeOver(BY_INT, interrupted)).toEqual({ interruptedAtMs: 7 });
  expect(judgeOver({ code: 130, signal: null }, interrupted)).toEqual({ interruptedAtMs: 7 });
  expect(judgeOver(BY_INT, about)).toBe("crashed");
  expect(judgeOver(BY_INT, { ...interrupted, isStop: false })).toBe("crashed");
  expect(judgeOver({ code: 1, signal: null }, interrupted)).toBe("crashed");
});
