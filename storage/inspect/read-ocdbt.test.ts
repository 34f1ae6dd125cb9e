import { zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { createSeeded } from "../testing/fuzz-inspect.ts";
import { readOcdbt } from "./read-ocdbt.ts";
import { boundSource, readBeside, sourceOfBytes } from "./source.ts";

/** Trees of several heights and damaged ones, which real files of this size do not have; written here by the specification. */

type Files = Map<string, Buffer>;

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return [...bytes, left];
    bytes.push((left % 128) + 128);
  }
};
const text = (value: string): number[] => [...Buffer.from(value)];

function wrap(magic: number, body: readonly number[] | Buffer, how: "plain" | "zstd" = "plain"): Buffer {
  const packed = how === "zstd" ? zstdCompressSync(Buffer.from(body)) : Buffer.from(body);
  const header = Buffer.alloc(14);
  header.writeUInt32BE(magic, 0);
  header.writeBigUInt64LE(BigInt(14 + packed.length + 4), 4);
  header[13] = how === "zstd" ? 1 : 0;
  return Buffer.concat([header, packed, Buffer.alloc(4)]);
}

/** Paths that share nothing, all without a base. */
const table = (paths: readonly string[]): number[] => [
  ...varint(paths.length),
  ...paths.slice(1).flatMap(() => varint(0)),
  ...paths.flatMap((path) => varint(path.length)),
  ...paths.flatMap(() => varint(0)),
  ...paths.flatMap(text),
];

const keysOf = (keys: readonly string[]) => ({
  lengths: [...keys.slice(1).flatMap(() => varint(0)), ...keys.flatMap((key) => varint(key.length))],
  suffixes: keys.flatMap(text),
});

function leaf(rows: readonly { key: string; value?: string; at?: [offset: number, length: number] }[]): Buffer {
  const { lengths, suffixes } = keysOf(rows.map(({ key }) => key));
  const outside = rows.flatMap(({ at }) => (at === undefined ? [] : [at]));
  const body = [
    0,
    ...table(["d/data"]),
    ...varint(rows.length),
    ...lengths,
    ...suffixes,
    ...rows.flatMap(({ value, at }) => varint(at?.[1] ?? value?.length ?? 0)),
    ...rows.flatMap(({ at }) => varint(at === undefined ? 0 : 1)),
    ...outside.flatMap(() => varint(0)),
    ...outside.flatMap(([offset]) => varint(offset)),
    ...rows.flatMap(({ value }) => text(value ?? "")),
  ];
  return wrap(0x0cdb20de, body, "zstd");
}

function interior(
  height: number,
  children: readonly { key: string; common: number; path: string; node: Buffer }[],
): Buffer {
  const { lengths, suffixes } = keysOf(children.map(({ key }) => key));
  const zeros = children.flatMap(() => varint(0));
  const body = [
    height,
    ...table(children.map(({ path }) => path)),
    ...varint(children.length),
    ...lengths,
    ...children.flatMap(({ common }) => varint(common)),
    ...suffixes,
    ...children.flatMap((_, row) => varint(row)),
    ...zeros,
    ...children.flatMap(({ node }) => varint(node.length)),
    ...zeros,
    ...zeros,
    ...zeros,
  ];
  return wrap(0x0cdb20de, body);
}

function manifestOf(root: { path: string; height: number; length: number; keys?: number }): Buffer {
  const version = [1, 1, root.height, 0, 0, ...varint(root.length), root.keys ?? 1, 0, 0, ...Array<number>(8).fill(0)];
  const config = [...Array<number>(16).fill(7), 0, ...varint(1024), ...varint(1e8), 4, 0];
  return wrap(0x0cdb3a2a, [...config, ...table([root.path]), ...version, 0]);
}

function tree(): { manifest: Buffer; files: Files } {
  const first = leaf([
    { key: "rrays/.zarray", value: "{}" },
    { key: "rrays/0", at: [10, 90] },
  ]);
  const second = leaf([
    { key: "b/.zarray", value: "[]" },
    { key: "b/0", at: [100, 28] },
  ]);
  const root = interior(1, [
    { key: "arrays/", common: 1, path: "d/one", node: first },
    { key: "b/", common: 0, path: "d/two", node: second },
  ]);
  const files: Files = new Map([
    ["d/root", root],
    ["d/one", first],
    ["d/two", second],
  ]);
  return { manifest: manifestOf({ path: "d/root", height: 1, length: root.length }), files };
}

const read = ({ manifest, files }: { manifest: Buffer; files: Files }) => {
  const spent = { readBytes: 0, reads: 0 };
  const open = readBeside((relative) => {
    const bytes = files.get(relative);
    return Promise.resolve(bytes === undefined ? null : sourceOfBytes(bytes));
  }, spent);
  return readOcdbt(boundSource(sourceOfBytes(manifest), spent), { open, wanted: (key) => key.endsWith(".zarray") });
};
const codeOf = (reading: Promise<unknown>): Promise<string> =>
  reading.then(
    () => "read",
    (error: unknown) => (isFault(error) ? error.code : String(error)),
  );

describe("an index of arrays", () => {
  it("is followed through its branches, with the beginnings of keys that each branch stands for", async () => {
    const { values, files, isPartial } = await read(tree());
    expect([...values].map(([key, value]) => [key, Buffer.from(value).toString()])).toEqual(
      expect.arrayContaining([
        ["arrays/.zarray", "{}"],
        ["b/.zarray", "[]"],
      ]),
    );
    expect(isPartial).toBe(false);
    expect(files.get("d/data")).toBe(128);
    expect([...files.keys()].sort()).toEqual(["d/data", "d/one", "d/root", "d/two"]);
  });

  it("that lacks a branch says which, and has what is left", async () => {
    const lacking = tree();
    lacking.files.delete("d/one");
    const { values, files, isPartial } = await read(lacking);
    expect([[...values.keys()], isPartial, files.has("d/one")]).toEqual([["b/.zarray"], true, true]);
    const short = tree();
    short.files.set("d/two", Buffer.from(short.files.get("d/two")?.subarray(0, 20) ?? []));
    expect((await read(short)).isPartial).toBe(true);
  });

  it("that is empty has nothing", async () => {
    const { files, values } = await read({
      manifest: manifestOf({ path: "d/x", height: 0, length: 9, keys: 0 }),
      files: new Map(),
    });
    expect([files.size, values.size]).toEqual([0, 0]);
  });

  it("leads nowhere but into its folder", async () => {
    const outside = { path: "../secret", height: 0, length: 40 };
    const opened = await read({ manifest: manifestOf(outside), files: new Map([["../secret", leaf([])]]) });
    expect(opened.isPartial).toBe(true);
  });

  it("that goes in circles, or unpacks to more than is looked at, is given up", async () => {
    const small = wrap(0x0cdb20de, [1]);
    const circle = interior(1, [{ key: "a", common: 1, path: "d/root", node: small }]);
    const files: Files = new Map([["d/root", circle]]);
    expect(
      await codeOf(read({ manifest: manifestOf({ path: "d/root", height: 1, length: circle.length }), files })),
    ).toBe("MALFORMED");
    const bomb = wrap(0x0cdb20de, Buffer.alloc(70 * 1024 * 1024), "zstd");
    expect(
      await codeOf(
        read({
          manifest: manifestOf({ path: "d/bomb", height: 0, length: bomb.length }),
          files: new Map([["d/bomb", bomb]]),
        }),
      ),
    ).toBe("TOO_MUCH_INSIDE");
  });

  it("that was bent anywhere is read or refused, never anything else", async () => {
    const ends = new Set<string>();
    for (let seed = 1; seed <= 3_000; seed++) {
      const random = createSeeded(seed);
      const { manifest, files } = tree();
      const all = [manifest, files.get("d/root") ?? manifest];
      const bent = all[random.below(2)] ?? manifest;
      for (let times = 1 + random.below(4); times > 0; times--)
        bent[12 + random.below(bent.length - 12)] = random.next() < 0.5 ? random.below(256) : 0xff;
      ends.add(await codeOf(read({ manifest, files })));
    }
    expect([...ends].sort()).toEqual(["MALFORMED", "read"]);
  });
});
