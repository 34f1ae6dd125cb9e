import { expect, test } from "vitest";
import { bestMatches, matchScore } from "./palette-match.ts";

test("every word typed must occur", () => {
  expect(matchScore("Restore llama-8b", "lla res")).not.toBeNull();
  expect(matchScore("Restore llama-8b", "lla add")).toBeNull();
});

test("a beginning beats a word inside, which beats a middle", () => {
  const found = bestMatches([{ text: "xgpu" }, { text: "a gpu-2" }, { text: "gpu-1" }], "gpu", 3);
  expect(found.map((entry) => entry.text)).toEqual(["gpu-1", "a gpu-2", "xgpu"]);
});

test("nothing typed keeps the order and the limit", () => {
  expect(bestMatches([{ text: "b" }, { text: "a" }, { text: "c" }], "", 2).map((entry) => entry.text)).toEqual([
    "b",
    "a",
  ]);
});
