import { mkdtemp, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { identityOf } from "../engine/identity.ts";
import { FoundFiles } from "./found-file.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "found-file-"));
});
afterAll(() => rm(folder, { recursive: true }));

const COUNT = 1_200;

test("each of many files is told as it was found", async () => {
  const files = new FoundFiles(folder);
  const found = await Promise.all(
    Array.from({ length: COUNT }, async (_, index) => {
      const path = join(folder, String(index));
      await writeFile(path, "x".repeat(index % 7));
      await utimes(path, index, index + 1);
      const stats = await stat(path, { bigint: true });
      return { index, stats, file: files.add(String(index), stats) };
    }),
  );
  for (const { index, stats, file } of found) {
    expect(file.relative).toBe(String(index));
    expect(file.path).toBe(join(folder, String(index)));
    expect(file.identity).toEqual(identityOf(stats));
    expect([file.sizeBytes, file.modifiedAtMs]).toEqual([index % 7, (index + 1) * 1_000]);
  }
});

test("numbers as large as a file system has them are told exactly", () => {
  const [most, least] = [2n ** 64n - 1n, -(2n ** 62n)];
  const stats = { dev: most, ino: most - 1n, size: 2n ** 52n, mtimeNs: least };
  const file = new FoundFiles("/").add("a/b", stats);
  expect(file.identity).toEqual(identityOf(stats));
  expect([file.path, file.sizeBytes, file.at]).toEqual(["/a/b", 2 ** 52, "local"]);
});
