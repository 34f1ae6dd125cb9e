import { expect, test } from "vitest";
import { ENGINE_NAMES, ENGINES } from "./engines.ts";
import { planCases } from "./plan-cases.ts";

const plan = (seed: number) => planCases({ engines: ENGINE_NAMES, directions: ["up", "down"], rounds: 3, seed });
const named = (seed: number) => plan(seed).map(({ engine, direction, round }) => `${engine} ${direction} ${round}`);

test("every engine takes its turn in each round and direction that it can do, once", () => {
  const names = named(1);
  const able = ENGINE_NAMES.reduce((sum, name) => sum + ENGINES[name].directions.length, 0);
  expect(names).toHaveLength(3 * able);
  expect(new Set(names).size).toBe(names.length);
  expect(names).not.toContain("aria2 up 1");
});

test("the seed decides the order, and another seed another one", () => {
  expect(named(7)).toEqual(named(7));
  expect(named(7)).not.toEqual(named(8));
  expect(named(7).toSorted()).toEqual(named(8).toSorted());
});

test("no engine has the beginning for itself", () => {
  const first = new Set(Array.from({ length: 200 }, (_, seed) => plan(seed)[0]?.engine));
  expect(first.size).toBe(ENGINE_NAMES.length);
});
