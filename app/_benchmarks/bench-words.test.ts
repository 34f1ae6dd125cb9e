import { expect, test } from "vitest";
import { changeWords, engineLines, percentWords, shareDone } from "./bench-words.ts";

const one = (engine: "rclone" | "tidemark", direction: "up" | "down", failed: number) => ({
  engine,
  direction,
  cases: 10,
  failed,
  meanBytesPerSecond: 1,
  p50BytesPerSecond: 1,
  bestShare: 0.5,
});

test("an engine's two directions stand on one line, in the order of the table of engines", () => {
  const lines = engineLines({
    engines: [one("rclone", "up", 1), one("tidemark", "down", 0), one("rclone", "down", 2)],
  });
  expect(lines.map(({ engine, cases, failed }) => [engine, cases, failed])).toEqual([
    ["tidemark", 10, 0],
    ["rclone", 20, 3],
  ]);
  expect(lines[0]?.up).toBeNull();
  expect(lines[1]?.up?.failed).toBe(1);
});

test("shares and changes are in words", () => {
  expect(shareDone({ turns: { waiting: 1, running: 1, done: 1, failed: 1, cancelled: 0 } })).toBe(0.5);
  expect(shareDone({ turns: { waiting: 0, running: 0, done: 0, failed: 0, cancelled: 0 } })).toBe(1);
  expect(percentWords(0.775)).toBe("77.5 %");
  expect(percentWords(null)).toBe("–");
  expect(changeWords(150, 100)).toBe("+50.0 %");
  expect(changeWords(75, 100)).toBe("−25.0 %");
  expect(changeWords(1, null)).toBe("–");
});
