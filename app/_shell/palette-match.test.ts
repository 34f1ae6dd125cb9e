import { expect, test } from "vitest";
import { bestMatches } from "./palette-match.ts";

test("every word typed must occur, in the text or among the other words", () => {
  const entries = [{ text: "Restore llama-8b" }, { text: "llama-8b, step 1,200", also: "1200" }];
  const found = (typed: string) => bestMatches(entries, typed, 5).map(({ text }) => text);
  expect(found("lla res")).toEqual(["Restore llama-8b"]);
  expect(found("llama 1200")).toEqual(["llama-8b, step 1,200"]);
  expect(found("1200")).toEqual(["llama-8b, step 1,200"]);
  expect(found("lla add")).toEqual([]);
});

test("a word with a slip finds what it means, after what has the word itself", () => {
  const entries = [{ text: "Settings" }, { text: "setings of old" }];
  expect(bestMatches(entries, "setings", 5).map(({ text }) => text)).toEqual(["setings of old", "Settings"]);
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

test("what takes up whatever was typed stands last, also after what fits by a slip", () => {
  const entries = [{ text: "Keys with “setings”", place: "last" as const }, { text: "Settings" }];
  expect(bestMatches(entries, "setings", 5).map(({ text }) => text)).toEqual(["Settings", "Keys with “setings”"]);
});
