import { expect, test, vi } from "vitest";
import { PATIENCE_MS, waitPatiently } from "./patience.ts";

/** Returns a stand-in for `vi` that keeps the options of each wait. */
function recorder() {
  const asked: unknown[] = [];
  const wait = (_: unknown, options: unknown) => {
    asked.push(options);
    return Promise.resolve();
  };
  return { asked, utilities: { waitFor: wait, waitUntil: wait } as unknown as typeof vi };
}

test("waits of tests are patient unless they say how long they wait, and are replaced once", async () => {
  const { asked, utilities } = recorder();
  waitPatiently(utilities);
  const { waitFor } = utilities;
  waitPatiently(utilities);
  expect(utilities.waitFor).toBe(waitFor);
  await utilities.waitFor(() => undefined);
  await utilities.waitUntil(() => true, { interval: 5 });
  await utilities.waitFor(() => undefined, { timeout: 7 });
  await utilities.waitFor(() => undefined, 9);
  expect(asked).toEqual([{ timeout: PATIENCE_MS }, { timeout: PATIENCE_MS, interval: 5 }, { timeout: 7 }, 9]);
});

test("waits of these tests are patient: their set-up says so", async () => {
  const startedAt = performance.now();
  await vi.waitFor(() => expect(performance.now() - startedAt).toBeGreaterThan(1_200));
});
