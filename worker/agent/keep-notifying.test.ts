import { expect, it } from "vitest";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import { runName } from "#protocol/base/names.ts";
import { eventNotice } from "../notify/compose-notice.ts";
import { judge } from "./keep-notifying.ts";

const MINUTE_MS = 60_000;
const run = runName.parse("llama");

const backlog = (oldestUnsafeAt: number | null): RunBacklog => ({
  run,
  writerEpoch: 1,
  unsafeCheckpoints: oldestUnsafeAt === null ? 0 : 2,
  unsafeFiles: 2,
  unsafeBytes: 3_000_000_000,
  movedBytes: 0,
  oldestUnsafeAt,
  safeStep: 100,
  safeAt: 0,
  safeBytes: 1,
  localStep: 200,
  localAt: 0,
  startedAt: 0,
  idleMs: 0,
  trainedStep: null,
  trainedAt: null,
  intervalMs: null,
  leastIntervalMs: null,
});

it("tells once that a checkpoint waits for too long, and once that all is safe again", () => {
  const firing = new Set<string>();
  const at = (now: number, oldest: number | null) =>
    judge({ node: "gpu-1", now, afterMs: 30 * MINUTE_MS, firing }, backlog(oldest))?.title ?? null;
  expect(at(29 * MINUTE_MS, 0)).toBeNull();
  expect(at(30 * MINUTE_MS, 0)).toBe("gpu-1: a checkpoint of llama has not been safe for 30 min");
  expect(at(31 * MINUTE_MS, 0)).toBeNull();
  expect(at(32 * MINUTE_MS, null)).toBe("gpu-1: nothing of llama waits any more");
  expect(at(33 * MINUTE_MS, null)).toBeNull();
  expect(at(90 * MINUTE_MS, 50 * MINUTE_MS)).toContain("has not been safe for 40 min");
});

it("tells that a program failed, with its last lines, and that a restore is done; nothing else", () => {
  const about = { node: "gpu-1", now: 5 };
  const ended = { type: "program-ended" as const, run, signal: null, ranMs: 3_600_000, tail: "a\nCUDA error\n" };
  expect(eventNotice(about, { ...ended, code: 0 })).toBeNull();
  expect(eventNotice(about, { ...ended, code: 3 })).toMatchObject({
    severity: "critical",
    title: "gpu-1: the program of llama ended with exit code 3 after 1 h",
    lines: ["a", "CUDA error"],
  });
});
