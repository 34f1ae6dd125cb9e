import { describe, expect, it } from "vitest";
import { editsToBeginning, matchWords } from "./match-words.ts";

describe("words that are slightly wrong", () => {
  it.each([
    ["llmaa", "llama-8b"],
    ["lama 8b", "llama-8b"],
    ["lama-8b", "llama-8b"],
    ["benchmrak", "Benchmarks"],
    ["setings", "Settings of the hub"],
    ["transfres faild", "Failed transfers"],
  ])("%s finds %s", (typed, text) => expect(matchWords(text, typed)).not.toBeNull());

  it.each([
    ["1200", "step 1201"],
    ["gpu-17", "gpu-18"],
    ["ggu", "gpu"],
    ["alerts", "Transfers"],
    ["llama-9b", "llama-8b"],
  ])("%s does not find %s", (typed, text) => expect(matchWords(text, typed)).toBeNull());

  it("stand after every text that has the word itself", () => {
    expect(matchWords("llama", "llmaa") ?? 0).toBeLessThan(matchWords("x llmaa of a very long name", "llmaa") ?? 0);
  });
});

it("counts a swap of neighbours as one edit, and nothing for what is not typed yet", () => {
  expect(editsToBeginning("lalma", "llama-training", 2)).toBe(1);
  expect(editsToBeginning("llam", "llama-training", 2)).toBe(0);
  expect(editsToBeginning("xxxx", "llama", 1)).toBe(2);
});
