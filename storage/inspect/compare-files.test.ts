import { expect, it } from "vitest";
import type { ManifestFile } from "#protocol/checkpoint/checkpoint.ts";
import { filePath } from "#protocol/base/names.ts";
import { compareFiles } from "./compare-files.ts";

const file = (path: string, parts: [length: number, crc32: string][]): ManifestFile => ({
  path: filePath.parse(path),
  sizeBytes: parts.reduce((sum, [length]) => sum + length, 0),
  mtimeMs: 1,
  sha256: null,
  extents: parts.map(([length, crc32]) => ({
    key: `key of ${path}`,
    offset: 0,
    length,
    crc32,
    etag: `"${crc32} was here"`,
  })),
});

it("tells files that came, went, kept their bytes or changed in some of their parts", async () => {
  const from = [
    file("gone", [[1, "aaaaaaaa"]]),
    file("same", [[4, "aaaaaaaa"]]),
    file("model", [
      [8, "a".repeat(8)],
      [8, "b".repeat(8)],
    ]),
  ];
  const to = [
    file("same", [[4, "aaaaaaaa"]]),
    file("model", [
      [8, "a".repeat(8)],
      [8, "c".repeat(8)],
    ]),
    file("new", [[2, "d".repeat(8)]]),
  ];
  expect(await compareFiles(from, to)).toEqual({
    added: [{ path: "new", sizeBytes: 2 }],
    removed: [{ path: "gone", sizeBytes: 1 }],
    changed: [{ path: "model", fromBytes: 16, toBytes: 16, changedParts: 1, parts: 2 }],
    same: 1,
    unknown: 0,
    omitted: 0,
  });
});

it("does not take the same size for the same bytes where parts do not line up", async () => {
  const [a, b] = [
    [file("m", [[16, "a".repeat(8)]])],
    [
      file("m", [
        [8, "b".repeat(8)],
        [8, "c".repeat(8)],
      ]),
    ],
  ];
  expect(await compareFiles(a, b)).toMatchObject({ same: 0, changed: [], unknown: 1 });
  expect((await compareFiles(a, [file("m", [[17, "a".repeat(8)]])])).changed).toMatchObject([
    { changedParts: null, parts: 1 },
  ]);
});
