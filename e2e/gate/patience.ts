import type { vi } from "vitest";

/** Generous: a machine that is busy with something else answers late, not wrongly. */
export const PATIENCE_MS = 300_000;

const patient = new WeakSet<object>();

/** Replaces the default time limit of `vi.waitFor` and `vi.waitUntil`, once in a process that runs many test files. */
export function waitPatiently(utilities: Pick<typeof vi, "waitFor" | "waitUntil">): void {
  if (patient.has(utilities)) return;
  patient.add(utilities);
  const { waitFor, waitUntil } = utilities;
  utilities.waitFor = (callback, options) => waitFor(callback, withPatience(options));
  utilities.waitUntil = (callback, options) => waitUntil(callback, withPatience(options));
}

const withPatience = (options: number | { timeout?: number; interval?: number } = {}) =>
  typeof options === "number" ? options : { timeout: PATIENCE_MS, ...options };
