import { expect, it } from "vitest";
import { createPauses, mapInSlices } from "./pauses.ts";

const spin = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

/** Counts how often the event loop turns while `work` goes on. */
async function turnsWhile(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  await work();
  clearImmediate(next);
  return turns;
}

it("a pause is due when its slice has lasted, and begins a new one", async () => {
  let at = 0;
  const pauses = createPauses(() => at);
  at += 7;
  expect(pauses.isDue()).toBe(false);
  at += 1;
  expect(pauses.isDue()).toBe(true);
  expect(await turnsWhile(() => pauses.take())).toBeGreaterThan(0);
  expect(pauses.isDue()).toBe(false);
});

it("rows are mapped in their order, and the event loop turns meanwhile", async () => {
  const rows = Array.from({ length: 30 }, (_, index) => index);
  let mapped: number[] = [];
  const turns = await turnsWhile(async () => {
    mapped = await mapInSlices(rows, (row) => {
      spin(3);
      return row * 2;
    });
  });
  expect(mapped).toEqual(rows.map((row) => row * 2));
  expect(turns).toBeGreaterThan(3);
});
