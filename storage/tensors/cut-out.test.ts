import { expect, test } from "vitest";
import { randomFrom } from "#protocol/base/random-from.ts";
import { readArchive, readTruth } from "../testing/real-files.ts";
import { makeSafetensors, readPlainly, type PlainTensor } from "../testing/plain-safetensors.ts";
import { boundSource, sourceOfBytes } from "../inspect/source.ts";
import { cutIndex, cutOut, neededPieces, readLayout, readShardIndex, type Range } from "./cut-out.ts";

const HOLE = 0xee;
const WIDTHS = { F32: 4, BF16: 2, U8: 1, I64: 8, F8_E4M3: 1 };
const DTYPES = Object.keys(WIDTHS) as (keyof typeof WIDTHS)[];
const STRANGE = ["0", "17", "__proto__", "constructor", "über.🦙", 'quote".\\', "", "a b"];

const layoutOf = (file: Buffer) => readLayout(boundSource(sourceOfBytes(file)));

/** What a restore does: fetches the pieces into a file of holes, then copies. */
async function cutBy(
  file: Buffer,
  about: { extents: { length: number; crc32: string | null }[]; fits: (name: string) => boolean },
) {
  const layout = await layoutOf(file);
  const cut = cutOut(layout, about.fits);
  if (cut === null) return null;
  const wanted: Range[] = [{ from: 0, length: layout.dataAt }, ...cut.moves];
  const pieces = neededPieces(about.extents, wanted);
  const hollow = Buffer.alloc(file.length, HOLE);
  for (const { fileOffset, length } of pieces) file.copy(hollow, fileOffset, fileOffset, fileOffset + length);
  const made = Buffer.alloc(cut.sizeBytes, HOLE);
  cut.header.copy(made);
  for (const { from, to, length } of cut.moves) hollow.copy(made, to, from, from + length);
  return { made, pieces, wanted, cut };
}

test("whatever the header, a plain reader finds exactly the chosen tensors, in their order, and nothing else is fetched", async () => {
  let [cuts, skipped] = [0, 0];
  for (let seed = 1; seed <= 600; seed++) {
    const next = randomFrom(seed);
    const below = (most: number) => Math.floor(next() * most);
    const shuffled = <T>(list: readonly T[]): T[] =>
      list
        .map((one) => ({ one, key: next() }))
        .toSorted((a, b) => a.key - b.key)
        .map(({ one }) => one);
    const names = new Set(
      Array.from({ length: below(30) }, (_, index) =>
        below(6) === 0 ? (STRANGE[below(STRANGE.length)] ?? "") : `model.layers.${index}.w`,
      ),
    );
    const tensors = [...names].map((name): PlainTensor => {
      const dtype = DTYPES[below(DTYPES.length)] ?? "U8";
      const shape = Array.from({ length: below(4) }, () => below(12));
      const bytes = Buffer.from(
        Array.from({ length: shape.reduce((all, one) => all * one, WIDTHS[dtype]) }, () => below(256)),
      );
      return { name, dtype, shape, bytes };
    });
    const metadata = below(2) === 0 ? {} : { metadata: { format: "pt", note: 'ü\u2028"' } };
    const file = makeSafetensors(tensors, {
      ...metadata,
      ...(below(2) === 0 ? {} : { inHeader: shuffled([...names]) }),
    });
    const extents: { length: number; crc32: string | null }[] = [];
    const [partBytes, isSummed] = [1 + below(3_000), below(3) > 0];
    for (let at = 0; at < file.length; at += partBytes)
      extents.push({ length: Math.min(partBytes, file.length - at), crc32: isSummed ? "00000000" : null });
    const chosen = new Set([...names].filter(() => below(3) === 0));
    const found = await cutBy(file, { extents, fits: (name) => chosen.has(name) });
    if (found === null) {
      expect(chosen.size).toBe(0);
      continue;
    }
    cuts++;
    const [before, after] = [readPlainly(file), readPlainly(found.made)];
    expect(after.tensors).toEqual(before.tensors.filter(({ name }) => chosen.has(name)));
    expect(after.metadata).toEqual(before.metadata);
    expect(after.dataAt % 8).toBe(0);
    const held = (list: readonly string[]) =>
      list.filter((name) => (tensors.find((one) => one.name === name)?.bytes.length ?? 0) > 0);
    expect(held(after.inBytes)).toEqual(held(before.inBytes.filter((name) => chosen.has(name))));
    // Whole pieces where there is a sum, and none that holds nothing that is wanted.
    for (const { extent, from, length, fileOffset } of found.pieces) {
      if (isSummed) expect({ from, length }).toEqual({ from: 0, length: extents[extent]?.length });
      expect(fileOffset).toBe(extent * partBytes + from);
      expect(found.wanted.some((one) => one.from < fileOffset + length && fileOffset < one.from + one.length)).toBe(
        true,
      );
    }
    if (found.pieces.length < extents.length) skipped++;
  }
  expect(cuts).toBeGreaterThan(400);
  expect(skipped).toBeGreaterThan(100);
});

test("a dtype that nobody here knows goes along as it is", async () => {
  const file = makeSafetensors([
    { name: "a", dtype: "F3_NEW", shape: [8], bytes: Buffer.from("abc") },
    { name: "b", dtype: "U8", shape: [2], bytes: Buffer.from("de") },
  ]);
  const found = await cutBy(file, { extents: [{ length: file.length, crc32: null }], fits: (name) => name === "a" });
  expect(readPlainly(found?.made ?? Buffer.alloc(0)).tensors).toMatchObject([
    { name: "a", dtype: "F3_NEW", shape: [8] },
  ]);
});

test("files that the real library wrote are cut to what a plain reader understands", async () => {
  let files = 0;
  const truth = readTruth();
  for (const archive of ["real-checkpoints", "inspect-formats"] as const) {
    for (const [path, file] of readArchive(archive)) {
      if (!path.endsWith(".safetensors") || truth[archive][path]?.tensors === undefined) continue;
      const whole = readPlainly(file);
      const last = whole.tensors.at(-1);
      const found = await cutBy(file, {
        extents: [{ length: file.length, crc32: "0" }],
        fits: (name) => name === last?.name,
      });
      if (last === undefined) expect(found).toBeNull();
      else {
        const cut = readPlainly(found?.made ?? Buffer.alloc(0));
        expect(cut.metadata).toEqual(whole.metadata);
        expect(cut.tensors).toEqual([last]);
      }
      files++;
    }
  }
  expect(files).toBeGreaterThan(0);
});

test("headers that lie are refused by what is wrong with them", async () => {
  const u8 = (name: string, text: string): PlainTensor => ({
    name,
    dtype: "U8",
    shape: [text.length],
    bytes: Buffer.from(text),
  });
  const good = makeSafetensors([u8("a", "aaaa"), u8("b", "bbbb")]);
  const bent = (from: string, to: string) => Buffer.from(good.toString("latin1").replace(from, to), "latin1");
  const wrong: [Buffer, string][] = [
    [bent("[4,8]", "[2,6]"), "overlap"],
    [bent("[4,8]", "[8,4]"), "ends before it begins"],
    [bent("[0,4]", "[0,3]"), "dtype and shape make 4"],
    [bent('"U8"', "1234"), "lacks its dtype"],
    [good.subarray(0, -1), "cut short"],
    [good.subarray(0, 20), "cut short"],
    [good.subarray(0, 5), "shorter than the length"],
    [Buffer.concat([Buffer.from([255, 255, 255, 255, 255, 255, 255, 255]), good]), "allows 100 MB"],
  ];
  for (const [file, detail] of wrong)
    await expect(layoutOf(file)).rejects.toMatchObject({
      code: "MALFORMED",
      context: { detail: expect.stringContaining(detail) },
    });
});

test("an index names only what is there, and keeps what else it says", () => {
  const index = readShardIndex({
    metadata: { total_size: 99, total_parameters: 12, license: "mine" },
    weight_map: { b: "2.safetensors", a: "1.safetensors", c: "2.safetensors" },
  });
  const isThere = (name: string) => name !== "a";
  const text = cutIndex(index, { isThere, tensorBytes: 7 })?.toString() ?? "";
  expect(JSON.parse(text)).toEqual({
    metadata: { total_size: 7, license: "mine" },
    weight_map: { b: "2.safetensors", c: "2.safetensors" },
  });
  expect(Object.keys((JSON.parse(text) as { weight_map: object }).weight_map)).toEqual(["b", "c"]);
  expect(cutIndex(index, { isThere: () => false, tensorBytes: 0 })).toBeNull();
  for (const wrong of [null, {}, { weight_map: [] }, { weight_map: { a: 1 } }])
    expect(() => readShardIndex(wrong)).toThrow(expect.objectContaining({ code: "MALFORMED" }));
});
