import { open, type FileHandle } from "node:fs/promises";
import { parseJson } from "#storage/inspect/parse-json.ts";
import { NEVER_EMPTY } from "#protocol/recognition/checkpoint-layouts.ts";
import type { LookedFile } from "./look.ts";

/**
 * Tells whether a file that was written from front to back has its end. After a kill -9 of the program a torn file is quiet and
 * nobody has it open; only its format still shows it. Nothing is unpacked, and a file of no known format is not judged.
 */
export type Wholeness = "whole" | "cut" | "unknown";

const SAFETENSORS = /\.safetensors$/i;
const ZIP = /\.(pt|pth|pth\.tar|ckpt|bin|npz|distcp|pkl|zip|keras)$/i;

/** Header of a safetensors file: 8 bytes of little-endian length, then JSON. The format allows no more than 100 MB. */
const LENGTH_BYTES = 8;
const MOST_HEADER_BYTES = 100_000_000;
/** A larger header is not read: it would show nothing that the settle time does not show too. */
const MOST_READ_BYTES = 16 * 1024 * 1024;

/** End of central directory of a zip file (APPNOTE 4.3.16): 22 bytes and a comment of up to 64 KiB. */
const ZIP_START = Buffer.from("PK\u0003\u0004");
const ZIP_END = 0x06054b50;
const ZIP_END_BYTES = 22;
const COMMENT_LENGTH_AT = 20;
const MOST_COMMENT_BYTES = 65_535;
const IN_ZIP64 = 0xffffffff;

/** Returns whether the file is whole; `unknown` when it cannot be read. No faults. */
export async function isWhole(file: Pick<LookedFile, "relative" | "path" | "identity">): Promise<Wholeness> {
  const judge = SAFETENSORS.test(file.relative) ? judgeSafetensors : ZIP.test(file.relative) ? judgeZip : null;
  if (judge === null) return "unknown";
  if (file.identity.sizeBytes === 0 && NEVER_EMPTY.test(file.relative)) return "cut";
  let handle: FileHandle | null = null;
  try {
    handle = await open(file.path, "r");
    return await judge(handle, file.identity.sizeBytes);
  } catch {
    return "unknown";
  } finally {
    await handle?.close();
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await handle.read(bytes, 0, length, position);
  return bytes.subarray(0, bytesRead);
}

async function judgeSafetensors(handle: FileHandle, sizeBytes: number): Promise<Wholeness> {
  const start = await readAt(handle, 0, LENGTH_BYTES + 1);
  // The file ends inside the length field, if it has one.
  if (start.length <= LENGTH_BYTES) {
    const length = Buffer.concat([start, Buffer.alloc(LENGTH_BYTES)]).readBigUInt64LE(0);
    return length > BigInt(MOST_HEADER_BYTES) ? "unknown" : "cut";
  }
  const headerBytes = start.readBigUInt64LE(0);
  if (headerBytes > BigInt(MOST_HEADER_BYTES) || start[LENGTH_BYTES] !== "{".charCodeAt(0)) return "unknown";
  const header = Number(headerBytes);
  if (LENGTH_BYTES + header > sizeBytes) return "cut";
  if (header > MOST_READ_BYTES) return "unknown";
  const parsed: unknown = parseJson(await readAt(handle, LENGTH_BYTES, header));
  return LENGTH_BYTES + header + endOfTensors(parsed) > sizeBytes ? "cut" : "whole";
}

/** Returns the end of the last tensor, counted from behind the header. */
function endOfTensors(header: unknown): number {
  if (typeof header !== "object" || header === null) return 0;
  let end = 0;
  for (const tensor of Object.values(header) as unknown[]) {
    if (typeof tensor !== "object" || tensor === null || !("data_offsets" in tensor)) continue;
    const offsets: unknown = tensor.data_offsets;
    const last: unknown = Array.isArray(offsets) ? offsets[1] : null;
    if (typeof last === "number") end = Math.max(end, last);
  }
  return end;
}

async function judgeZip(handle: FileHandle, sizeBytes: number): Promise<Wholeness> {
  const start = await readAt(handle, 0, ZIP_START.length);
  // Older PyTorch files are bare pickles.
  if (start.length === 0 || !start.equals(ZIP_START.subarray(0, start.length))) return "unknown";
  const near = Math.min(sizeBytes, ZIP_END_BYTES + MOST_COMMENT_BYTES);
  const tail = await readAt(handle, sizeBytes - near, near);
  for (let at = tail.length - ZIP_END_BYTES; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== ZIP_END) continue;
    // A file of PyTorch DCP is one zip after another: only an end that ends the file counts.
    if (at + ZIP_END_BYTES + tail.readUInt16LE(at + COMMENT_LENGTH_AT) !== tail.length) continue;
    const directory = { bytes: tail.readUInt32LE(at + 12), offset: tail.readUInt32LE(at + 16) };
    const isZip64 = directory.bytes === IN_ZIP64 || directory.offset === IN_ZIP64;
    const endsAt = sizeBytes - near + at;
    if (isZip64 || directory.offset + directory.bytes <= endsAt) return "whole";
  }
  return "cut";
}
