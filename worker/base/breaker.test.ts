import { expect, test } from "vitest";
import { Fault } from "#protocol/faults/fault.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { createPatience, createRetrier, withRetry } from "../transfer/store-session/retry.ts";

const signal = new AbortController().signal;

/** A link that can be cut; counts what tries to cross it. */
function link() {
  const state = { up: false, tries: 0, most: 0, now: 0 };
  const cross = async () => {
    state.tries++;
    state.most = Math.max(state.most, ++state.now);
    await Promise.resolve();
    state.now--;
    if (!state.up) throw new Fault("LINK_DOWN");
    return "crossed";
  };
  return { state, cross };
}

test("while the link is down one probe goes at a time, and the first success wakes everybody", async () => {
  const clock = createFakeClock(() => 0.9);
  const retrier = createRetrier(clock);
  const { state, cross } = link();
  const patience = createPatience(clock);
  const parts = Array.from({ length: 20 }, () => withRetry(retrier, { signal, patience }, cross));
  await clock.pass(0);
  const firstTries = state.tries;
  expect(firstTries).toBe(20);
  state.most = 0;
  await clock.pass(60_000);
  expect(state.most).toBe(1);
  expect(state.tries - firstTries).toBeLessThan(60);
  state.up = true;
  await clock.pass(5_000);
  expect(await Promise.all(parts)).toEqual(Array.from({ length: 20 }, () => "crossed"));
});

test("a part gives up only when the whole transfer stood still for the given time", async () => {
  const clock = createFakeClock();
  const retrier = createRetrier(clock, 60_000);
  const patience = createPatience(clock);
  const { cross } = link();
  let outcome = "trying";
  const part = withRetry(retrier, { signal, patience }, cross).catch(() => {
    outcome = "given up";
  });
  await clock.pass(50_000);
  patience.progressed();
  await clock.pass(50_000);
  expect(outcome).toBe("trying");
  await clock.pass(20_000);
  await part;
  expect(outcome).toBe("given up");
});

test("what no repetition can mend is not repeated", async () => {
  const clock = createFakeClock();
  let tries = 0;
  const refused = withRetry(createRetrier(clock), { signal, patience: createPatience(clock) }, async () => {
    tries++;
    throw new Fault("ACCESS_DENIED");
  });
  await expect(refused).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  expect(tries).toBe(1);
});

test("a stopped sleeper leaves the line and does not hold up the others", async () => {
  const clock = createFakeClock();
  const retrier = createRetrier(clock);
  const patience = createPatience(clock);
  const { state, cross } = link();
  const stop = new AbortController();
  const stopped = withRetry(retrier, { signal: stop.signal, patience }, cross);
  const other = withRetry(retrier, { signal, patience }, cross);
  await clock.pass(0);
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ code: "CANCELLED" });
  state.up = true;
  await clock.pass(10_000);
  expect(await other).toBe("crossed");
});
