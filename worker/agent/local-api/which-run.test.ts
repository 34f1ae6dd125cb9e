import { expect, test } from "vitest";
import { runName } from "#protocol/base/names.ts";
import { whichRun } from "./which-run.ts";

const watch = (folder: string, run: string) => ({ folder, run: runName.parse(run), takes: null });
const [llama, qwen] = [watch("/data/llama", "llama"), watch("/data/qwen", "qwen")];

test("the run that is named counts, then the watched folder the path lies in, then the only one there is", () => {
  expect(whichRun([llama, qwen], { run: runName.parse("other"), path: "/data/llama/c" })).toBe("other");
  expect(whichRun([llama, qwen], { path: "/data/qwen/deep/checkpoint-5" })).toBe("qwen");
  expect(whichRun([llama], { path: "/elsewhere/checkpoint-5" })).toBe("llama");
});

test("a folder whose name only begins the same is another one", () => {
  expect(() => whichRun([llama, qwen], { path: "/data/llama-2/checkpoint-5" })).toThrow(/llama, qwen/);
});

test("without any way to tell it asks for the name, and says which there are", () => {
  expect(() => whichRun([], {})).toThrow(/name the run/);
  expect(() => whichRun([llama, qwen], {})).toThrow(/this worker writes llama, qwen/);
});
