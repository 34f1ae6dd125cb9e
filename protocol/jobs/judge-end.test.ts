import { describe, expect, it } from "vitest";
import { randomFrom } from "../base/random-from.ts";
import { jobPolicy, type JobPolicy } from "./job-spec.ts";
import { judgeEnd, type AttemptEnd, type JobHistory } from "./judge-end.ts";

const policy = (changes: object = {}): JobPolicy => jobPolicy.parse(changes);
const history = (changes: Partial<JobHistory> = {}): JobHistory => ({
  failures: 0,
  setbacks: 0,
  random: () => 1,
  ...changes,
});
const still = { fromStep: 100, safeStep: 100 };
const ahead = { fromStep: 100, safeStep: 200 };
const exited = (code: number, steps = still): AttemptEnd => ({ kind: "exited", code, ...steps });
const killed: AttemptEnd = { kind: "killed", signal: "SIGKILL", ...still };

describe("the end of an attempt", () => {
  it("completes the job with code 0, also when every failure was used up but one", () => {
    expect(judgeEnd(policy(), history({ failures: 2 }), exited(0))).toMatchObject({
      outcome: "completed",
      state: "done",
      failures: 2,
    });
  });

  it("counts a failure, and fails the job with the last one that its policy allows", () => {
    expect(judgeEnd(policy(), history({ failures: 1 }), exited(1))).toMatchObject({ state: "waiting", failures: 2 });
    expect(judgeEnd(policy(), history({ failures: 2 }), exited(1))).toMatchObject({
      outcome: "failed",
      state: "failed",
      failures: 3,
      delayMs: 0,
    });
  });

  it("never counts an interruption, however often it happens, and waits for nothing", () => {
    const end: AttemptEnd = { kind: "interrupted", why: "gpu-1 is silent", ...still };
    const verdict = judgeEnd(policy({ mostFailures: 1 }), history({ failures: 0, setbacks: 50 }), end);
    expect(verdict).toEqual({
      outcome: "interrupted",
      state: "waiting",
      failures: 0,
      setbacks: 50,
      delayMs: 0,
      banMs: null,
      reason: "gpu-1 is silent",
    });
  });

  it("counts a signal as a failure and says what may have sent it", () => {
    expect(judgeEnd(policy({ mostFailures: 1 }), history(), killed)).toMatchObject({
      state: "failed",
      failures: 1,
      reason: "was ended by SIGKILL: the machine may have run out of memory",
    });
  });

  it("counts an attempt that the hub stopped by its policy", () => {
    const end: AttemptEnd = { kind: "stopped", limit: "no-progress", ...still };
    expect(judgeEnd(policy(), history(), end)).toMatchObject({ outcome: "failed", state: "waiting", failures: 1 });
    expect(judgeEnd(policy({ mostFailures: 1 }), history(), end)).toMatchObject({ state: "failed" });
  });

  it("fails the job at once with a code that is listed as final", () => {
    const about = policy({ exitCodes: { fail: [64] } });
    expect(judgeEnd(about, history(), exited(64))).toMatchObject({ state: "failed", failures: 1 });
    expect(judgeEnd(about, history(), exited(65))).toMatchObject({ state: "waiting" });
  });

  it("does not count a code that asks for a retry while training advances, and counts it without progress", () => {
    const about = policy({ mostFailures: 1, exitCodes: { retry: [75] } });
    expect(judgeEnd(about, history(), exited(75, ahead))).toMatchObject({ state: "waiting", failures: 0 });
    expect(judgeEnd(about, history(), exited(75))).toMatchObject({ state: "failed", failures: 1 });
  });

  it("keeps the job from a machine whose code blames it, and from one that could not start the program", () => {
    const about = policy({ exitCodes: { banMachine: [13] } });
    expect(judgeEnd(about, history(), exited(13)).banMs).toBe(3_600_000);
    expect(judgeEnd(about, history(), exited(1)).banMs).toBeNull();
    const refused: AttemptEnd = { kind: "refused", why: "no such command", ...still };
    expect(judgeEnd(about, history(), refused)).toMatchObject({ failures: 1, banMs: 3_600_000 });
    expect(judgeEnd(about, history(), killed).banMs).toBeNull();
  });

  it("doubles the wait with every failure in a row up to ten minutes, and starts again after progress", () => {
    const about = policy({ mostFailures: 100 });
    const waits = [0, 1, 2, 3, 20].map((setbacks) => judgeEnd(about, history({ setbacks }), exited(1)).delayMs);
    expect(waits).toEqual([10_000, 20_000, 40_000, 80_000, 600_000]);
    expect(judgeEnd(about, history({ setbacks: 20 }), exited(1, ahead))).toMatchObject({
      setbacks: 1,
      delayMs: 10_000,
    });
  });

  it("spreads the waits of jobs that failed together over half of the time", () => {
    const random = randomFrom(7);
    const waits = Array.from(
      { length: 200 },
      () => judgeEnd(policy(), history({ setbacks: 2, random }), exited(1)).delayMs,
    );
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(20_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(40_000);
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(15_000);
  });
});
