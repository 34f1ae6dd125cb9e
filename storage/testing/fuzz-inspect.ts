import { isFault } from "#protocol/faults/fault.ts";
import { INSPECT_LIMITS } from "#protocol/checkpoint/inspect-limits.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import { makeAmplified } from "./amplify-files.ts";
import { inspectFile, readsBeside } from "../inspect/inspect-file.ts";
import { type ByteSource, sourceOfBytes } from "../inspect/source.ts";
import { ARCHIVES, readArchive } from "./real-files.ts";

/**
 * Makes hostile files by seed: mutated real files, garbage that begins like a known format, and small files that describe
 * very much. The same seed makes the same file, so failures are reproducible. For each file inspection must return, or
 * throw a Fault only. It must read no byte outside the file or past the limits, and its result must stay below a maximum
 * size.
 */
export interface Seeded {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** Returns an integer from 0 (inclusive) to `below` (exclusive). */
  below(below: number): number;
}

/** Returns an xorshift32 generator. */
export function createSeeded(seed: number): Seeded {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 4_294_967_296;
  };
  for (let warm = 0; warm < 8; warm++) next();
  return { next, below: (below) => Math.floor(next() * below) };
}

/** Most characters of a result as JSON: three times what a page shows of the largest real checkpoint. */
const MOST_TOLD = 16_000_000;
const MOST_SEED_BYTES = 64 * 1024;

interface Seed {
  path: string;
  bytes: Buffer;
  /** Neighboring files that are read with it, by their path relative to its folder. */
  beside: ReadonlyMap<string, Buffer>;
}

/** Data files whose format only a neighboring index describes. */
const HAS_NO_FORMAT = /\.distcp$|(^|\/)d\/[0-9a-f]{32}$|(^|\/)(c|\d+)([./]\d+)*$|commit_success\.txt$/;

/** Returns the real files to mutate, except those without a format of their own. */
export const readSeeds = (): Seed[] =>
  ARCHIVES.flatMap((archive) => {
    const files = [...readArchive(archive)];
    return files.map(([path, bytes]) => ({ path, bytes, beside: besideOf(path, files) }));
  }).filter(({ path, bytes }) => bytes.length > 0 && bytes.length <= MOST_SEED_BYTES && !HAS_NO_FORMAT.test(path));

function besideOf(path: string, files: readonly (readonly [string, Buffer])[]): ReadonlyMap<string, Buffer> {
  if (!readsBeside(path)) return new Map();
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return new Map(
    files
      .filter(([other]) => other.startsWith(folder))
      .map(([other, bytes]) => [other.slice(folder.length), bytes] as const),
  );
}

const NUMBERS = [
  0n,
  1n,
  0x7fn,
  0xffn,
  0x7fffn,
  0xffffn,
  0x7fffffffn,
  0xffffffffn,
  0x7fffffffffffffffn,
  0xffffffffffffffffn,
  1n << 40n,
  1n << 53n,
];
const TOKENS = [
  "{",
  "}",
  "[",
  "]",
  '"',
  "(",
  "}}}}",
  "((((",
  "]]]]",
  "\x80\x04",
  "\x95",
  "\x94",
  "R",
  "b",
  "u",
  "e",
  "s",
  "t",
  ".",
  "Q",
  "2222",
  "cos\nsystem\n",
  "\x93",
  "__metadata__",
  "null",
  "1e999",
  "-1",
  "NaN",
  "PK\x05\x06",
  "PK\x01\x02",
  "'shape': (",
  "data_offsets",
];
const STARTS = [
  "GGUF\x03\0\0\0",
  "GGUF\x02\0\0\0",
  "\x93NUMPY\x01\0",
  "\x93NUMPY\x03\0",
  "PK\x03\x04",
  "\x80\x02",
  "\x80\x04\x95",
  "\x80\x02\x8a\x0alü\x9cFù jªP\x19.",
  '{"a":',
  '{"log_history":[',
  '{"weight_map":{',
  "\x10\0\0\0\0\0\0\0{",
  "",
];
const NAMES = [
  "a.safetensors",
  "a.gguf",
  "a.pt",
  ".metadata",
  "a.npy",
  "a.npz",
  "a.json",
  "trainer_state.json",
  "a.bin",
  "a.txt",
  "optimizer.pt",
];

export interface HostileFile {
  path: string;
  bytes: Buffer;
  /** The claimed size; zeros follow the bytes. */
  sizeBytes: number;
  beside: ReadonlyMap<string, Buffer>;
}

/** Makes the hostile file of a seed. */
export function makeHostile(seed: number, seeds: readonly Seed[]): HostileFile {
  const random = createSeeded(seed);
  const pick = <T>(items: readonly T[], otherwise: T): T => items[random.below(items.length)] ?? otherwise;
  if (random.next() < 0.15) return makeGarbage(random);
  if (random.next() < 0.1) {
    const made = makeAmplified(random);
    return { ...made, sizeBytes: made.bytes.length };
  }
  const base = pick<Seed>(seeds, { path: "", bytes: Buffer.alloc(1), beside: new Map() });
  // The neighboring files are mutated as often as the file itself.
  const [besides, bent] =
    base.beside.size > 0 && random.next() < 0.5
      ? pick([...base.beside], ["", base.bytes] as [string, Buffer])
      : (["", base.bytes] as const);
  let bytes: Buffer = Buffer.from(bent);
  for (let times = 1 + random.below(random.next() < 0.2 ? 64 : 5); times > 0 && bytes.length > 0; times--) {
    bytes = bend(bytes, { random, other: pick<Seed>(seeds, base).bytes });
  }
  if (besides !== "") {
    const { path, bytes: whole } = base;
    return { path, bytes: whole, sizeBytes: whole.length, beside: new Map([...base.beside, [besides, bytes]]) };
  }
  const path = random.next() < 0.05 ? pick(NAMES, "a") : base.path;
  const isLong = random.next() < 0.05;
  return {
    path,
    bytes,
    sizeBytes: isLong ? bytes.length + random.below(2 ** (8 + random.below(40))) : bytes.length,
    beside: base.beside,
  };
}

function makeGarbage(random: Seeded): HostileFile {
  const start = STARTS[random.below(STARTS.length)] ?? "";
  const pieces: Buffer[] = [Buffer.from(start, "latin1")];
  for (let count = random.below(200); count > 0; count--) {
    if (random.next() < 0.4) pieces.push(Buffer.from(TOKENS[random.below(TOKENS.length)] ?? "", "latin1"));
    else if (random.next() < 0.5) pieces.push(numberBytes(random));
    else pieces.push(Buffer.from(Array.from({ length: random.below(16) }, () => random.below(256))));
  }
  const bytes = Buffer.concat(pieces);
  return { path: NAMES[random.below(NAMES.length)] ?? "a", bytes, sizeBytes: bytes.length, beside: new Map() };
}

function numberBytes(random: Seeded): Buffer {
  const bytes = Buffer.alloc(8);
  const value = NUMBERS[random.below(NUMBERS.length)] ?? 0n;
  if (random.next() < 0.9) bytes.writeBigUInt64LE(value);
  else bytes.writeBigUInt64BE(value);
  return bytes.subarray(0, [1, 2, 4, 8][random.below(4)] ?? 8);
}

/** Applies one mutation. About half of them hit the ends, where headers and directories are. */
function bend(bytes: Buffer, about: { random: Seeded; other: Buffer }): Buffer {
  const { random, other } = about;
  const near = Math.min(bytes.length, 512);
  const place = random.next();
  const at =
    place < 0.35
      ? random.below(near)
      : place < 0.6
        ? bytes.length - 1 - random.below(near)
        : random.below(bytes.length);
  const write = (piece: Buffer) => {
    piece.copy(bytes, at);
    return bytes;
  };
  switch (random.below(10)) {
    case 0:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    case 1:
      bytes[at] = random.below(256);
      return bytes;
    case 2:
    case 3:
      return write(numberBytes(random));
    case 4:
      return bytes.subarray(0, random.below(bytes.length + 1));
    case 5:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(64))]);
    case 6: {
      const from = random.below(bytes.length);
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, from + random.below(256)), bytes.subarray(at)]);
    }
    case 7:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from(TOKENS[random.below(TOKENS.length)] ?? "", "latin1"),
        bytes.subarray(at),
      ]);
    case 8: {
      const from = random.below(other.length);
      return Buffer.concat([bytes.subarray(0, at), other.subarray(from, from + random.below(512)), bytes.subarray(at)]);
    }
    default:
      // Changes digits in JSON and Python texts.
      for (let digit = at; digit < Math.min(bytes.length, at + 64); digit++) {
        const code = bytes[digit] ?? 0;
        if (code >= 0x30 && code <= 0x39) bytes[digit] = 0x30 + random.below(10);
      }
      return bytes;
  }
}

/** Inspects a hostile file and returns the violated requirement; null when there is none. */
export async function tryHostile(file: HostileFile): Promise<{ problem: string | null; found: FileInspection | null }> {
  let [read, reads] = [0, 0];
  let problem: string | null = null;
  const { bytes, sizeBytes, beside } = file;
  try {
    const watched = (source: ByteSource): ByteSource => ({
      sizeBytes: source.sizeBytes,
      read: (offset, length) => {
        read += length;
        reads++;
        const isInside =
          Number.isSafeInteger(offset) &&
          Number.isSafeInteger(length) &&
          offset >= 0 &&
          length > 0 &&
          offset + length <= source.sizeBytes;
        if (!isInside) problem = `${length} bytes at ${offset} were asked for; the file has ${source.sizeBytes}`;
        return source.read(offset, length);
      },
    });
    const padded: ByteSource = {
      sizeBytes,
      read: (offset, length) => {
        const there = bytes.subarray(offset, offset + length);
        if (there.length === length || problem !== null) return Promise.resolve(there);
        return Promise.resolve(Buffer.concat([there, Buffer.alloc(length - there.length)]));
      },
    };
    const found = await inspectFile(file.path, watched(padded), (relative) => {
      const other = beside.get(relative);
      return Promise.resolve(other === undefined ? null : watched(sourceOfBytes(other)));
    });
    if (read > INSPECT_LIMITS.readBytes) problem = `${read} bytes were read`;
    if (reads > INSPECT_LIMITS.reads) problem = `${reads} reads were made`;
    const told = JSON.stringify(found).length;
    if (told > MOST_TOLD) problem = `the answer has ${told} characters, of ${bytes.length} bytes`;
    return { problem: problem ?? problemIn(found), found };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { problem: `${isFault(error) ? `Fault ${error.code}` : "crash"}: ${text}`, found: null };
  }
}

/** Checks that all numbers are finite and non-negative, lists are limited, and texts have no hidden characters. */
function problemIn(found: FileInspection): string | null {
  const numbers = [
    found.parameters,
    found.weights,
    found.tensorBytes,
    ...found.tensors.flatMap((one) => [one.sizeBytes, one.offset ?? 0, ...one.shape]),
  ];
  if (numbers.some((value) => !Number.isFinite(value) || value < 0)) return "a number that is none";
  if (
    found.tensors.some(({ offset, sizeBytes }) => offset !== null && offset + sizeBytes > found.sizeBytes) &&
    found.fault === null
  ) {
    return "a tensor lies past the end of its file, and nothing was said";
  }
  if (found.tensors.length > INSPECT_LIMITS.tensors || found.metadata.length > INSPECT_LIMITS.metadata)
    return "a list without end";
  const shown = [found.metadata, found.warnings, found.names, found.fault?.detail, found.tree];
  if (hasHidden(shown) || hasHidden(found.preview?.replaceAll(/[\n\t]/g, ""))) return "a mark that cannot be seen";
  return null;
}

/** Returns whether any text in the value has control characters or bidirectional marks. */
function hasHidden(value: unknown): boolean {
  let isHidden = false;
  JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === "string") isHidden ||= /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(item);
    return item;
  });
  return isHidden;
}
