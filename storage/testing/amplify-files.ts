import { crc32, deflateRawSync } from "node:zlib";
import type { Seeded } from "./fuzz-inspect.ts";

/**
 * Makes small files that describe very much, by seed: path tables with shared prefixes, sparse keys, deep nesting, shared
 * references, and entries that decompress to much more. Each has hundreds to tens of thousands of rows.
 */
export interface Amplified {
  path: string;
  bytes: Buffer;
  beside: ReadonlyMap<string, Buffer>;
}

const ALONE: ReadonlyMap<string, Buffer> = new Map();

const ascii = (text: string): Buffer => Buffer.from(text, "latin1");

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
};

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

const many = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index));

const TREE = JSON.stringify({
  tree_metadata: { w: { key_metadata: [{ key: "w" }], value_metadata: { value_type: "jax.Array" } } },
  use_ocdbt: true,
});

/** Makes an OCDBT manifest whose paths share prefixes with the previous path. */
function prefixTable(random: Seeded): Amplified {
  const [rows, length] = [1 + random.below(20_000), random.below(70_000)];
  const table = [
    ...varint(rows),
    ...many(rows - 1, () => varint(random.next() < 0.9 ? length : random.below(length + 1))).flat(),
    ...varint(length),
    ...many(rows - 1, () => 0),
    ...many(rows, () => 0),
    ...many(Math.min(length, 65_000), () => 97),
  ];
  const body = Buffer.from([...many(16, () => 1), 0, 1, 1, 1, 0, ...table]);
  const head = Buffer.alloc(14);
  head.writeUInt32BE(0x0cdb3a2a, 0);
  head.writeBigUInt64LE(BigInt(body.length + 18), 4);
  const manifest = Buffer.concat([head, body, Buffer.alloc(4)]);
  return { path: "_METADATA", bytes: ascii(TREE), beside: new Map([["manifest.ocdbt", manifest]]) };
}

/** Makes a zip with one entry that several directory names point to; its content is stored or deflated. */
function zipOf(content: Buffer, about: { names: readonly string[]; isDeflated: boolean }): Buffer {
  const stored = about.isDeflated ? deflateRawSync(content) : content;
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  const entries = about.names.map((name) => {
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(about.isDeflated ? 8 : 0, 10);
    central.writeUInt32LE(crc32(content), 16);
    central.writeUInt32LE(stored.length, 20);
    central.writeUInt32LE(content.length, 24);
    central.writeUInt16LE(name.length, 28);
    return Buffer.concat([central, ascii(name)]);
  });
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(local.length + stored.length, 16);
  return Buffer.concat([local, stored, directory, end]);
}

/** Wraps a pickle in a file whose reader reads it: DCP metadata or a torch file. */
const asPickle = (random: Seeded, pickle: Buffer): Amplified =>
  random.next() < 0.3
    ? { path: ".metadata", bytes: pickle, beside: ALONE }
    : { path: "a.pt", bytes: zipOf(pickle, { names: ["a/data.pkl"], isDeflated: random.next() < 0.3 }), beside: ALONE };

/** Makes a pickle with widely spaced memo indices, or with a dictionary of such keys. */
function sparseKeys(random: Seeded): Amplified {
  const rows = many(1 + random.below(5_000), () => {
    const key = uint32(random.below(0xffff_ffff));
    return random.next() < 0.5
      ? Buffer.concat([ascii("K\u0001r"), key, ascii("0")])
      : Buffer.concat([ascii("(J"), key, ascii("K\u0001u")]);
  });
  return asPickle(random, Buffer.concat([ascii("\u0080\u0002}"), ...rows, ascii(".")]));
}

function nested(random: Seeded): Amplified {
  const depth = 100 + random.below(40_000);
  const texts: readonly [path: string, text: string][] = [
    ["config.json", "[".repeat(depth) + "]".repeat(random.below(depth))],
    ["model.safetensors.index.json", `{"weight_map":${'{"a":'.repeat(depth)}1${"}".repeat(depth + 1)}`],
    ["trainer_state.json", `{"log_history":${'[{"loss":'.repeat(depth)}`],
    ["pickle", `\u0080\u0002${"(".repeat(depth)}${"t".repeat(depth)}.`],
    ["pickle", `\u0080\u0002${"]".repeat(depth)}${"a".repeat(depth - 1)}.`],
  ];
  const [path, text] = texts[random.below(texts.length)] ?? ["a.json", "["];
  return path === "pickle" ? asPickle(random, ascii(text)) : { path, bytes: ascii(text), beside: ALONE };
}

/** Makes lists that each hold the previous list several times, so that their expansion is exponential. */
function sharedReferences(random: Seeded): Amplified {
  const [levels, times] = [2 + random.below(60), 2 + random.below(200)];
  const parts = many(levels, (level) =>
    Buffer.concat([
      ascii(random.next() < 0.8 ? "]" : "}"),
      ascii("r"),
      uint32(level + 1),
      ascii("("),
      ...many(times, () => Buffer.concat([ascii("j"), uint32(level)])),
      ascii("e"),
    ]),
  );
  return asPickle(random, Buffer.concat([ascii("\u0080\u0002]r"), uint32(0), ...parts, ascii(".")]));
}

/** Makes an archive of arrays full of zeros, whose entries share one place. */
function unpacksToMuch(random: Seeded): Amplified {
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,), }";
  const start = Buffer.alloc(10);
  start.write("\u0093NUMPY\u0001\u0000", 0, "latin1");
  start.writeUInt16LE(header.length, 8);
  const content = Buffer.concat([start, ascii(header), Buffer.alloc(random.below(8_000_000))]);
  const names = many(1 + random.below(500), (index) => `${index}.npy`);
  return { path: "a.npz", bytes: zipOf(content, { names, isDeflated: true }), beside: ALONE };
}

const KINDS = [prefixTable, sparseKeys, nested, sharedReferences, unpacksToMuch] as const;

export const makeAmplified = (random: Seeded): Amplified => (KINDS[random.below(KINDS.length)] ?? nested)(random);
