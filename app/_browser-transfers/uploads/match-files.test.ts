import { expect, test } from "vitest";
import type { ChosenFile } from "../file-access.ts";
import { matchFiles } from "./match-files.ts";

const chosen = (path: string, size: number, lastModified = 1): ChosenFile => ({
  path,
  file: { size, lastModified } as File,
  handle: null,
});
const missing = (path: string, sizeBytes: number) => ({ path, sizeBytes, modifiedAt: 1 });

test("files are found below what was chosen: the same folder, one above it, one in it", () => {
  const files = [missing("dataset/a/weights.bin", 9), missing("dataset/config.json", 5)];
  for (const before of ["dataset/", "disk/dataset/", ""]) {
    const all = [chosen(`${before}a/weights.bin`, 9), chosen(`${before}config.json`, 5), chosen("other.txt", 1)];
    expect(matchFiles(files, all).found.size, before).toBe(2);
  }
});

test("of files with one name, size and time each gets the one in its own folder", () => {
  const files = [missing("d/a/config.json", 5), missing("d/b/config.json", 5)];
  const all = [chosen("d/b/config.json", 5), chosen("d/a/config.json", 5)];
  const { found } = matchFiles(files, all);
  expect(files.map((file) => found.get(file)?.path)).toEqual(["d/a/config.json", "d/b/config.json"]);
});

test("a file that was changed is told apart from one that is not there", () => {
  const files = [missing("d/a.bin", 5), missing("d/b.bin", 5), missing("d/c.bin", 5)];
  const all = [chosen("d/a.bin", 6), chosen("d/b.bin", 5, 2), chosen("d/elsewhere/c.bin", 6)];
  const { changed, missing: gone, found } = matchFiles(files, all);
  expect([changed, gone, found.size]).toEqual([[files[0], files[1]], [files[2]], 0]);
});
