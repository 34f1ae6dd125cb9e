import { expect, it } from "vitest";
import { storedManifest } from "#protocol/checkpoint/adopted.ts";
import { BARE_MANIFEST } from "#server/testing/bare-manifest.ts";
import { parseStored, readStored } from "./stored-manifest.ts";

const manifestOf = (count: number): string =>
  JSON.stringify({
    ...BARE_MANIFEST,
    sizeBytes: count,
    files: Array.from({ length: count }, (_, index) => ({
      path: `folder/file-${index}`,
      sizeBytes: 1,
      mtimeMs: 0,
      sha256: null,
      extents: [{ key: "k", offset: index, length: 1, crc32: "00000000", etag: "e" }],
    })),
  });

it("a large manifest is read in a thread, once for all who ask, and the event loop turns meanwhile", async () => {
  const text = manifestOf(20_000);
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  const [one, another] = await Promise.all([parseStored(text), parseStored(manifestOf(20_000))]);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(10);
  expect(one).toEqual(storedManifest.parse(JSON.parse(text)));
  expect(another).toBe(one);
});

it("a small one is the same, and one that is none is refused, large or small", async () => {
  const text = manifestOf(3);
  expect(await readStored({ manifest: text, files: "[]" })).toEqual(JSON.parse(text));
  await expect(parseStored(`{"format":"other"}`)).rejects.toThrow();
  await expect(parseStored(manifestOf(20_000).replace('"sizeBytes":20000', '"sizeBytes":1'))).rejects.toThrow(
    "The input is not valid",
  );
});
