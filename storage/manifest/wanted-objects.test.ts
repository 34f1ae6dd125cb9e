import { describe, expect, it } from "vitest";
import type { Extent, Manifest } from "#protocol/checkpoint/checkpoint.ts";
import { filePath } from "#protocol/base/names.ts";
import { assertAllListed, takeListed, wantedObjects } from "./wanted-objects.ts";

const AT_ONCE = { isDue: () => false, take: () => Promise.resolve() };
const piece = (key: string, offset: number, length: number): Extent => ({
  key,
  offset,
  length,
  crc32: "00000000",
  etag: '"e"',
});
const framed = (extent: Extent, length: number): Extent => ({ ...extent, stored: { length, crc32: "00000000" } });
const filesOf = (...extents: Extent[][]): Pick<Manifest, "files"> => ({
  files: extents.map((pieces, index) => ({
    path: filePath.parse(`f${index}`),
    sizeBytes: pieces.reduce((sum, { length }) => sum + length, 0),
    mtimeMs: 1,
    sha256: null,
    extents: pieces,
  })),
});

describe("the objects of a manifest", () => {
  it("are as large as the files that lie in them, whatever their order", async () => {
    const named = filesOf([piece("pack", 10, 5)], [piece("own", 0, 3), piece("own", 3, 4)], [piece("pack", 0, 10)]);
    expect([...(await wantedObjects(named, AT_ONCE))]).toEqual([
      ["pack", { sizeBytes: 15, etag: '"e"' }],
      ["own", { sizeBytes: 7, etag: '"e"' }],
    ]);
    const compressed = filesOf([framed(piece("pack", 0, 100), 8)], [piece("pack", 8, 2)]);
    expect((await wantedObjects(compressed, AT_ONCE)).get("pack")?.sizeBytes).toBe(10);
  });

  it.each([
    ["the same bytes for two files", [[piece("pack", 0, 10)], [piece("pack", 0, 10)]]],
    ["pieces that overlap", [[piece("pack", 0, 10)], [piece("pack", 9, 10)]]],
    ["a frame that reaches into the next", [[framed(piece("pack", 0, 5), 20)], [piece("pack", 5, 10)]]],
    ["bytes that belong to nobody", [[piece("pack", 0, 10)], [piece("pack", 11, 10)]]],
    ["two versions of one object", [[piece("pack", 0, 10)], [{ ...piece("pack", 10, 10), etag: '"other"' }]]],
  ])("are refused with %s", async (_what, extents) => {
    await expect(wantedObjects(filesOf(...extents), AT_ONCE)).rejects.toMatchObject({ code: "BAD_INPUT" });
  });
});

describe("listed objects", () => {
  const object = { key: "own", sizeBytes: 3, etag: '"e"' };
  const wanted = () => wantedObjects(filesOf([piece("own", 0, 3)]), AT_ONCE);
  const stable = { hasStableEtags: true };

  it("are taken out when they are what the manifest says, and the rest is missing", async () => {
    const left = await wanted();
    expect(() => assertAllListed(left)).toThrow(expect.objectContaining({ code: "NO_SUCH_KEY" }));
    takeListed(left, { ...object, key: "unnamed" }, stable);
    takeListed(left, { ...object, etag: 'W/"e"' }, stable);
    expect(() => assertAllListed(left)).not.toThrow();
  });

  it("are refused with another size, and with another ETag where those can be compared", async () => {
    const left = await wanted();
    const other = { ...object, etag: '"x"' };
    expect(() => takeListed(left, { ...object, sizeBytes: 4 }, stable)).toThrow(
      expect.objectContaining({ code: "SIZE_MISMATCH" }),
    );
    expect(() => takeListed(left, other, stable)).toThrow(expect.objectContaining({ code: "OBJECT_CHANGED" }));
    expect(() => takeListed(left, other, { hasStableEtags: false })).not.toThrow();
  });
});
