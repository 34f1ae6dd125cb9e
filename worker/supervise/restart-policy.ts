import { Fault } from "#protocol/faults/fault.ts";
import type { ProgramEnd } from "../program/program.ts";

/** How often a failed program is restarted on the same machine: at most this many times in a row, 0 for never. */
export interface RestartPolicy {
  mostRestarts: number;
}

/** A program that ran this long was working, so earlier failures no longer count. */
const WORKED_MS = 10 * 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** Reads `no`, `on-failure` or `on-failure:5`, the notation of container platforms. @throws Fault BAD_INPUT */
export function readRestartPolicy(text: string): RestartPolicy {
  if (text === "no") return { mostRestarts: 0 };
  const [, times] = /^on-failure(?::(\d{1,6}))?$/.exec(text) ?? [];
  if (times !== undefined) return { mostRestarts: Number(times) };
  if (text === "on-failure") return { mostRestarts: Infinity };
  throw new Fault("BAD_INPUT", { op: "usage", subject: `--restart ${text}`, detail: "no, on-failure or on-failure:5" });
}

export interface Failures {
  /** Failures in a row. */
  count: number;
}

/**
 * Returns the wait before a restart; null for no restart. `failures` counts the failures before this end.
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
