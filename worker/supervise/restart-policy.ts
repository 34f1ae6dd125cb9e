import { Fault } from "#protocol/faults/fault.ts";
import type { ProgramEnd } from "../program/program.ts";

/** Whether a program that failed is started again on the same machine: never, or up to so many times in a row. */
export interface RestartPolicy {
  mostRestarts: number;
}

/** A program that ran this long had begun to work: what failed before is forgiven. */
const WORKED_MS = 10 * 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** `no`, `on-failure` or `on-failure:5`, as container platforms write it. @throws Fault BAD_INPUT */
export function readRestartPolicy(text: string): RestartPolicy {
  if (text === "no") return { mostRestarts: 0 };
  const [, times] = /^on-failure(?::(\d{1,6}))?$/.exec(text) ?? [];
  if (times !== undefined) return { mostRestarts: Number(times) };
  if (text === "on-failure") return { mostRestarts: Infinity };
  throw new Fault("BAD_INPUT", { op: "usage", subject: `--restart ${text}`, detail: "no, on-failure or on-failure:5" });
}

export interface Failures {
  /** In a row. */
  count: number;
}

/**
 * How long to wait before it is started again; null: it is not. `failures` counts the ones before this end.
 */
export function restartAfter(
  policy: RestartPolicy,
  about: { end: ProgramEnd; ranMs: number; failures: Failures },
): { waitMs: number; failures: Failures } | null {
  const { end, ranMs, failures } = about;
  if (end.code === 0) return null;
  const before = ranMs >= WORKED_MS ? 0 : failures.count;
  if (before >= policy.mostRestarts) return null;
  return { waitMs: Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** before), failures: { count: before + 1 } };
}
