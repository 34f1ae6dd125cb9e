import { expect, test } from "vitest";
import { prefixesOf } from "./archived-files.ts";

test.each([
  ["one object beside others", ["models/a.pt"], ["models/a.pt"]],
  ["one object at the root of a bucket", ["a.pt"], ["a.pt"]],
  ["a folder with folders", ["c/a", "c/d/b", "c/e/f/g"], ["c/"]],
  ["two attempts", ["r/1/a", "r/2/b", "r/1/x/c"], ["r/1/", "r/2/b"]],
  ["files with one stem", ["m/model-1.bin", "m/model-2.bin"], ["m/model-"]],
  ["nothing", [], []],
])("the prefixes of %s are as long as the keys permit", (_title, keys, prefixes) => {
  expect(prefixesOf(keys)).toEqual(prefixes);
  expect(keys.every((key) => prefixes.some((prefix) => key.startsWith(prefix)))).toBe(true);
});
