import { expect, test } from "vitest";
import type { EventKind } from "#protocol/base/event-kinds.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import { milestoneWords } from "./milestone-words.ts";

let id = 0;
const event = (kind: EventKind, text: string, nodeName = "gpu-7"): EventRow => ({
  id: ++id,
  at: 0,
  kind,
  work: "safe",
  nodeId: "n",
  nodeName,
  run: null,
  step: null,
  text,
  detail: null,
  fault: null,
});

test("one or two milestones are said in their own words, the worse one first", () => {
  expect(milestoneWords([event("checkpoint-safe", "saved llama step 500")])).toBe("gpu-7 saved llama step 500.");
  expect(milestoneWords([event("checkpoint-safe", "saved a step 1"), event("node-silent", "has been silent")])).toBe(
    "gpu-7 has been silent. gpu-7 saved a step 1.",
  );
});

test("many are counted, so that a large fleet is one sentence", () => {
  const events = [
    ...Array.from({ length: 1200 }, () => event("checkpoint-safe", "saved x step 1")),
    event("node-silent", "has been silent"),
    event("restore-failed", "could not restore"),
    event("restore-failed", "could not restore"),
  ];
  expect(milestoneWords(events)).toBe("1 node fell silent, 2 restores failed, 1,200 checkpoints are safe.");
});

test("what is no milestone is not said", () => {
  expect(milestoneWords([event("command-sent", "was asked to pause"), event("upkeep", "made a backup")])).toBeNull();
  expect(milestoneWords([])).toBeNull();
});
