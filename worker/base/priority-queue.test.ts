import { expect, test } from "vitest";
import { createPriorityQueue } from "./priority-queue.ts";

test("items come in the order of their comparison, however they were added and taken between", () => {
  const queue = createPriorityQueue<number>((a, b) => a - b);
  expect(queue.take()).toBeUndefined();
  const numbers = Array.from({ length: 500 }, (_, at) => (at * 7_919) % 503);
  for (const number of numbers.slice(0, 300)) queue.add(number);
  const early = [queue.take(), queue.take(), queue.take()];
  expect(early).toEqual(
    numbers
      .slice(0, 300)
      .toSorted((a, b) => a - b)
      .slice(0, 3),
  );
  for (const number of numbers.slice(300)) queue.add(number);
  const rest: number[] = [];
  for (let next = queue.take(); next !== undefined; next = queue.take()) rest.push(next);
  expect(new Set([...early, ...rest])).toEqual(new Set(numbers));
  expect(rest).toHaveLength(497);
  expect(rest).toEqual(rest.toSorted((a, b) => a - b));
  expect(queue.take()).toBeUndefined();
});
