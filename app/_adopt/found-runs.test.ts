import { expect, it } from "vitest";
import type { RecognisedPage, RecognisedStep, Verdict } from "#protocol/recognition/recognise.ts";
import { adoptable, mergeRuns, suggestRun, whyNoRun } from "./found-runs.ts";

const found = (place: string, step: number | null, verdict: Verdict = "assumed complete"): RecognisedStep => ({
  place,
  kind: "folder",
  step,
  framework: null,
  verdict,
  reason: "",
  files: 1,
  sizeBytes: 1,
  newestAt: 1,
});
const page = (place: string, steps: RecognisedStep[]): RecognisedPage => ({
  runs: [{ place, steps }],
  objects: 0,
  others: 0,
  own: 0,
  omitted: 0,
  adopted: {},
  cursor: null,
  warnings: [],
});

it("puts a run together that goes on in the next page", () => {
  const runs = mergeRuns([page("a/", [found("a/2/", 2)]), page("a/", [found("a/1/", 1)])]);
  expect(runs).toHaveLength(1);
  expect(runs[0]?.steps.map(({ step }) => step)).toEqual([2, 1]);
});

it.each([
  ["experiments/Llama 8B (2)/", "Llama-8B-2-"],
  ["", "training"],
  ["___/", "adopted"],
  ["a/.hidden/", "hidden"],
])("names the run of %s %s, which is a name a run can have", (place, name) => {
  expect(suggestRun(place, "training")).toBe(name);
  expect(whyNoRun(name)).toBeNull();
});

it("adopts together what is assumed complete, one place a step", () => {
  const steps = [
    found("a/3/", 3),
    found("b/3/", 3),
    found("a/2/", 2, "incomplete"),
    found("a/1/", 1),
    found("m/", null),
  ];
  expect(adoptable(steps, { "a/1/": "id" }).map(({ place }) => place)).toEqual(["a/3/"]);
});
