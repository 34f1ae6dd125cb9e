import { expect, test } from "vitest";
import type { EngineNeeds } from "#protocol/benchmarks/views.ts";
import { needWords, runnable } from "./engine-needs.ts";

const needs = (engine: EngineNeeds["engine"], over: Partial<EngineNeeds> = {}): EngineNeeds => ({
  engine,
  canRun: false,
  needs: null,
  missingOn: 0,
  unknownOn: 0,
  ...over,
});

test("what an engine lacks is said: a key, a program, or both", () => {
  expect(needWords(needs("tidemark", { canRun: true }))).toBeNull();
  expect(needWords(needs("sdk", { needs: "key" }))).toBe("needs a benchmark key");
  expect(needWords(needs("aria2", { unknownOn: 2 }))).toBe("needs aria2c on a node");
  expect(needWords(needs("uplink", { needs: "grant", unknownOn: 1, missingOn: 2 }))).toBe(
    "needs a benchmark key with an access grant and uplink on a node; 2 of 3 said it is not there",
  );
});

test("those that can run are chosen; before the hub has answered, the worker's own", () => {
  expect(runnable([needs("tidemark", { canRun: true }), needs("sdk")])).toEqual(["tidemark"]);
  expect(runnable(undefined)).toEqual(["tidemark"]);
});
