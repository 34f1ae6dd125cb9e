import { expect, test } from "vitest";
import { exitCodeOf, type ProgramEnd } from "../program/program.ts";
import { readRestartPolicy, restartAfter } from "./restart-policy.ts";

const failed: ProgramEnd = { code: 1, signal: null };

test("the policy is read as container platforms write it", () => {
  expect(readRestartPolicy("no")).toEqual({ mostRestarts: 0 });
  expect(readRestartPolicy("on-failure")).toEqual({ mostRestarts: Infinity });
  expect(readRestartPolicy("on-failure:3")).toEqual({ mostRestarts: 3 });
  expect(() => readRestartPolicy("always")).toThrow("--restart always");
});

test("a failed program is started again after longer and longer waits, up to its number", () => {
  const policy = readRestartPolicy("on-failure:3");
  const waits: number[] = [];
  let failures = { count: 0 };
  for (;;) {
    const again = restartAfter(policy, { end: failed, ranMs: 5_000, failures });
    if (again === null) break;
    waits.push(again.waitMs);
    ({ failures } = again);
  }
  expect(waits).toEqual([1_000, 2_000, 4_000]);
});

test("after it has worked for a while the failures before count no more", () => {
  const policy = readRestartPolicy("on-failure:1");
  expect(restartAfter(policy, { end: failed, ranMs: 1_000, failures: { count: 1 } })).toBeNull();
  expect(restartAfter(policy, { end: failed, ranMs: 3_600_000, failures: { count: 1 } })?.waitMs).toBe(1_000);
});

test("a program that is done is not started again, one that was killed is", () => {
  const policy = readRestartPolicy("on-failure");
  const about = { ranMs: 1_000, failures: { count: 0 } };
  expect(restartAfter(policy, { ...about, end: { code: 0, signal: null } })).toBeNull();
  expect(restartAfter(policy, { ...about, end: { code: null, signal: "SIGKILL" } })).not.toBeNull();
});

test("its exit code is told as a shell would", () => {
  expect(exitCodeOf({ code: 3, signal: null })).toBe(3);
  expect(exitCodeOf({ code: null, signal: "SIGKILL" })).toBe(137);
});
