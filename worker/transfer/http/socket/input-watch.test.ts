import { expect, test } from "vitest";
import { createInputWatch } from "./input-watch.ts";
import { MOST_TOLD } from "#worker/base/system-calls.ts";

/** Sockets of which the test says which have input. */
function sockets() {
  const state = { told: [] as number[], asked: 0, closed: 0 };
  const watch = {
    add: (socketFd: number) => socketFd < 100,
    take: () => {
      state.asked++;
      return state.told;
    },
    close: () => void state.closed++,
  };
  return { state, watch };
}

test("one question answers for all that ask in the same tick, and the next tick asks again", () => {
  const { state, watch } = sockets();
  let nowMs = 0;
  const inputs = createInputWatch(watch, () => nowMs);
  state.told = [7];
  expect([7, 8, 9].map(inputs.hasInput)).toEqual([true, false, false]);
  expect(state.asked).toBe(1);
  state.told = [8];
  nowMs = 4;
  expect([7, 8, 9].map(inputs.hasInput)).toEqual([false, true, false]);
  expect(state.asked).toBe(2);
});

test("when there may be more than could be told, everybody reads", () => {
  const { state, watch } = sockets();
  const inputs = createInputWatch(watch, () => 0);
  state.told = Array.from({ length: MOST_TOLD }, (_, index) => index);
  expect(inputs.hasInput(5_000)).toBe(true);
});

test("nobody is watched who cannot be, or after the end, and the end comes once", () => {
  const { state, watch } = sockets();
  const inputs = createInputWatch(watch, () => 0);
  expect([inputs.add(7), inputs.add(100)]).toEqual([true, false]);
  inputs.close();
  inputs.close();
  expect(inputs.add(7)).toBe(false);
  expect(inputs.hasInput(7)).toBe(true);
  expect(state).toMatchObject({ asked: 0, closed: 1 });
});
