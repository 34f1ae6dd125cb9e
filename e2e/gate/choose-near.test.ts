import { expect, test } from "vitest";
import { chooseNear } from "./choose-near.ts";

const NONE = { unit: [], conformance: [], process: [], faults: [], browser: [] };

test("the nearest tests run first, and what does not fit into the time is named", () => {
  const all = { ...NONE, unit: ["far.test.ts", "near.test.ts", "apart.test.ts"], process: ["long.test.ts"] };
  const distances = new Map([
    ["far.test.ts", 5],
    ["near.test.ts", 1],
    ["long.test.ts", 2],
  ]);
  const seconds = { "near.test.ts": 30, "long.test.ts": 300, "far.test.ts": 30 };
  const { selection, leftOut } = chooseNear(all, { distances, seconds, budgetSeconds: 60 });
  expect(selection).toEqual({ unit: ["far.test.ts", "near.test.ts"] });
  expect(leftOut).toEqual(["long.test.ts"]);
});

test("a test that was changed runs however long it takes", () => {
  const all = { ...NONE, browser: ["story.spec.ts"] };
  const distances = new Map([["story.spec.ts", 0]]);
  const { selection, leftOut } = chooseNear(all, { distances, seconds: { "story.spec.ts": 900 }, budgetSeconds: 60 });
  expect([selection, leftOut]).toEqual([{ browser: ["story.spec.ts"] }, []]);
});
