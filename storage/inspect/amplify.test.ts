import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import { inspectFile } from "./inspect-file.ts";
import { readPickle } from "./pickle/read-pickle.ts";
import { emptyFound } from "./found.ts";
import { collectTensors } from "./torch-values.ts";
import { boundSource, sourceOfBytes, type BoundedSource } from "./source.ts";
import { readOcdbt } from "./read-ocdbt.ts";
import { readEntryStart, type ZipEntry } from "./read-zip.ts";

/** Small files that describe much: every one of them held the hub for seconds, or ended it. */

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
};

/** Magic, length, version 0, not packed, body, no checksum. */
function piece(magic: number, body: readonly number[]): Buffer {
  const bytes = Buffer.alloc(14 + body.length + 4);
  bytes.writeUInt32BE(magic, 0);
  bytes.writeBigUInt64LE(BigInt(bytes.length), 4);
  Buffer.from(body).copy(bytes, 14);
  return bytes;
}

/** Paths of 64 KB each, told by a few bytes. */
function prefixTable(rows: number): number[] {
  const length = 60_000;
  return [
    ...varint(rows),
    ...Array.from({ length: rows - 1 }, () => varint(length)).flat(),
    ...varint(length),
    ...Array.from({ length: rows - 1 }, () => varint(0)).flat(),
    ...Array.from({ length: rows }, () => varint(0)).flat(),
    ...Array.from({ length }, () => 97),
  ];
}

/** A file that is one deflated zip entry, and what its directory would say of the entry. */
function deflatedEntry(packed: Buffer): [BoundedSource, ZipEntry] {
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  const source = boundSource(sourceOfBytes(Buffer.concat([local, packed])));
  const about = { name: "", method: 8, isEncrypted: false, crc32: 0, sizeBytes: 0, headerAt: 0 };
  return [source, { ...about, packedBytes: packed.length }];
}

describe("a small file that describes much", () => {
  it("an index whose paths are told by their beginnings is given up before they are joined", async () => {
    const body = [...Array.from({ length: 16 }, () => 1), 0, 1, 1, 1, 0, ...prefixTable(60_000)];
    const source = boundSource(sourceOfBytes(piece(0x0cdb3a2a, body)));
    const peakBefore = process.resourceUsage().maxRSS;
    const reading = readOcdbt(source, { open: () => Promise.resolve(null), wanted: () => true });
    await expect(reading).rejects.toMatchObject({ code: "TOO_MUCH_INSIDE" });
    // Joined, they have 3.6 GB.
    expect(process.resourceUsage().maxRSS - peakBefore).toBeLessThan(1_000_000);
  });

  it("an entry that unpacks past the limit is too much, and one whose packed bytes are damaged is malformed", async () => {
    const read = (packed: Buffer) => {
      const [source, entry] = deflatedEntry(packed);
      return readEntryStart(source, entry, packed.length);
    };
    await expect(read(deflateRawSync(Buffer.alloc(4 * 1024 * 1024 + 1)))).rejects.toMatchObject({
      code: "TOO_MUCH_INSIDE",
    });
    await expect(read(Buffer.alloc(64, 0xff))).rejects.toMatchObject({ code: "MALFORMED" });
  });

  it("entries that all lie at one place are unpacked once in a while, not five hundred times", async () => {
    const packed = deflateRawSync(Buffer.alloc(4 * 1024 * 1024 - 1));
    const [source, entry] = deflatedEntry(packed);
    const readAll = async () => {
      for (let index = 0; index < 500; index++) await readEntryStart(source, entry, packed.length);
    };
    await expect(readAll()).rejects.toMatchObject({ code: "TOO_MUCH_INSIDE" });
    expect(source.leftExpandedBytes).toBeGreaterThan(-4 * 1024 * 1024);
  });

  it("a tensor that is made of itself does not go on without end", () => {
    // args = [rebuild, None, args]; args[0] is the function itself.
    const name = "ctorch._tensor\n_rebuild_from_type_v2\n";
    const pickle = Buffer.from(`]q\x00(${name}Nh\x00e0${name}h\x00R.`, "latin1");
    const read = readPickle(pickle);
    expect(read).not.toBeNull();
    expect(() => collectTensors(read?.value ?? null, emptyFound("torch-zip"), () => null)).toThrow("made of a tensor");
  });

  it("sparse tensors that share thousands of parts are refused at the first one", () => {
    const parts = "N".repeat(3_000);
    const sparse = "ctorch._utils\n_rebuild_sparse_tensor\n";
    const pickle = `(${parts}lq\x000(${`${sparse}Nh\x00\x86R`.repeat(3_000)}l.`;
    const read = readPickle(Buffer.from(pickle, "latin1"));
    expect(() => collectTensors(read?.value ?? null, emptyFound("torch-zip"), () => null)).toThrow(
      "more parts than there are",
    );
  });

  it("a shape of thousands of dimensions is refused before they are read", () => {
    const rebuild = "ctorch._utils\n_rebuild_meta_tensor_no_storage\n";
    const pickle = `(${"K\x01".repeat(5_000)}tq\x000(${`${rebuild}Nh\x00\x86R`.repeat(2_000)}l.`;
    const read = readPickle(Buffer.from(pickle, "latin1"));
    expect(() => collectTensors(read?.value ?? null, emptyFound("torch-zip"), () => null)).toThrow("dimensions");
  });

  it("the digits of an array's shape are read once", async () => {
    const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${"1".repeat(60)}x), }`;
    const start = Buffer.alloc(10);
    start.write("\x93NUMPY\x01\x00", 0, "latin1");
    start.writeUInt16LE(header.length, 8);
    const found = await inspectFile("a.npy", sourceOfBytes(Buffer.concat([start, Buffer.from(header)])));
    expect(found.fault?.code).toBe("MALFORMED");
  });

  it("thousands of leaves with one name cost one description", async () => {
    const leaf = { key_metadata: [{ key: "w" }], value_metadata: { value_type: "jax.Array" } };
    const leaves = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [index, leaf]));
    const tree = Buffer.from(JSON.stringify({ tree_metadata: leaves, use_ocdbt: false }));
    const zarr = Buffer.from(
      JSON.stringify({ shape: [2], dtype: "<f4", more: Array.from({ length: 30_000 }, () => 0) }),
    );
    const beside = (path: string) => Promise.resolve(path === "w/.zarray" ? sourceOfBytes(zarr) : null);
    const found = await inspectFile("_METADATA", sourceOfBytes(tree), beside);
    expect(found.fault).toBeNull();
    expect(found.tensors).toHaveLength(20_000);
  });

  it("what is unpacked counts for a file and those beside it together", () => {
    const source = boundSource(sourceOfBytes(new Uint8Array(1)));
    source.expand(INSPECT_LIMITS.expandedBytes);
    expect(() => source.expand(1)).toThrow("once it is unpacked");
  });
});
