import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { childSeconds, takeChildSeconds } from "./child-cpu.ts";

test("reads the times of ended children behind a command with spaces and parentheses", () => {
  const stat = "7 (a (b) c) S 1 7 7 0 -1 0 0 0 0 0 11 12 150 75 20 0 1 0 0 0";
  expect(childSeconds(stat)).toBe(2.25);
});

test.runIf(process.platform === "linux")("a child that has ended is counted once", () => {
  takeChildSeconds();
  const work = "const end = process.cpuUsage().user + 200_000; while (process.cpuUsage().user < end);";
  execFileSync(process.execPath, ["-e", work]);
  expect(takeChildSeconds()).toBeGreaterThanOrEqual(0.2);
  expect(takeChildSeconds()).toBe(0);
});
