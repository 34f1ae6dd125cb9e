import { expect, test } from "vitest";
import { createFolderFinder } from "./find-folders.ts";

const foldersIn = (names: readonly string[]): string[] => {
  const finder = createFolderFinder();
  for (const name of names.toSorted()) finder.add(name);
  return [...finder.found];
};

test("a name that others lie below is found, whatever comes between them in the order", () => {
  expect(foldersIn(["model", "model-1", "model.txt", "model/config.json", "modelx"])).toEqual(["model"]);
  expect(foldersIn(["a", "a/b", "a/b/c"])).toEqual(["a", "a/b"]);
  expect(foldersIn(["a", "a", "a-b/c", "ab/c", "b/a"])).toEqual([]);
});
