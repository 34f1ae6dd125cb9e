import { expect, it } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { keepFetchingAhead } from "./keep-fetching-ahead.ts";

function start(fetch: (signal: AbortSignal) => Promise<void>, now = { isBusy: false }) {
  const clock = createFakeClock();
  const stop = new AbortController();
  const starts: number[] = [];
  const over = keepFetchingAhead({
    clock,
    signal: stop.signal,
    isBusy: () => now.isBusy,
    fetch: (signal) => {
      starts.push(clock.now());
      return fetch(signal);
    },
  });
  return { clock, stop, now, starts, over };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Fault("CANCELLED")), { once: true });
  });

it("asks once a minute, also after a fault", async () => {
  const { clock, stop, starts, over } = start(() => Promise.reject(new Fault("HUB_UNREACHABLE")));
  await clock.pass(59_000);
  expect(starts).toHaveLength(1);
  await clock.pass(2_000);
  expect(starts).toHaveLength(2);
  stop.abort();
  await over;
});

it("fetches nothing while a checkpoint is to be moved, and stops a fetch when one comes, to go on with it afterwards", async () => {
  const { clock, stop, now, starts, over } = start(untilAborted, { isBusy: true });
  await clock.pass(120_000);
  expect(starts).toHaveLength(0);
  now.isBusy = false;
  await clock.pass(1_000);
  expect(starts).toHaveLength(1);
  // A fetch that nothing disturbs takes its time.
  await clock.pass(300_000);
  expect(starts).toHaveLength(1);
  now.isBusy = true;
  await clock.pass(10_000);
  expect(starts).toHaveLength(1);
  now.isBusy = false;
  await clock.pass(1_000);
  expect(starts).toHaveLength(2);
  stop.abort();
  await over;
});

it("ends with the attempt, and hides no error of its own", async () => {
  const running = start(untilAborted);
  await running.clock.pass(1_000);
  running.stop.abort();
  await running.over;
  const { over } = start(() => Promise.reject(new TypeError("wrong")));
  await expect(over).rejects.toThrow("wrong");
});
