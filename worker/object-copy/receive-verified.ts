import { createHash, hash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import { combineCrc32 } from "#storage/checksums/combine-crc32.ts";
import { compositeCrc32 } from "#storage/checksums/crc32.ts";
import { removeOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import type { Engine } from "../transfer/engine.ts";
import { checksumSlice } from "../transfer/upload/read-part.ts";
import {
  receiveFile,
  type FileToReceive,
  type ReceiveMemory,
  type ReceiveWatch,
} from "../transfer/download/receive-file.ts";
import type { Piece } from "../transfer/download/piece.ts";
import type { AskObject, Expected, PartSum } from "./facts.ts";

/**
 * Fetches one object and compares it with the store's checksum. Only wrong bytes are fetched again. They are found by the
 * checksums of the parts, where the store tells them. Otherwise everything is fetched a second time, and pieces that differ
 * were wrong once. Bytes that arrive equal twice are what the store has. If they contradict the object's CRC32, that is a
 * Fault. They count as unverified if the ETag may be no MD5, or the parts may have other lengths.
 */
export interface Verified {
  key: string;
  target: FileToReceive;
  expected: Expected;
  memory: ReceiveMemory;
  watch: ReceiveWatch;
  ask: AskObject;
  /** Called when an ETag that looks like an MD5 is none. */
  onNoMd5(): void;
}

/** Most further fetches of pieces that keep changing, after which the link is considered faulty. */
const MOST_READINGS_AGAIN = 3;

/** Fetches and verifies one object. @throws Faults of `receiveFile`; CHECKSUM_MISMATCH, after which no bytes are kept */
export async function receiveVerified(engine: Engine, job: Verified): Promise<"verified" | "unverified"> {
  const { target, expected, memory, watch } = job;
  const sums = await receiveFile(engine, target, { memory, watch });
  if (expected.kind === "nothing") return "unverified";
  if (await isRight(target, { expected, sums, signal: watch.signal })) return "verified";
  watch.onRetry(mismatch(job));
  const moved = { bytes: 0 };
  const quietly: Verified = {
    ...job,
    // The progress already counts these bytes, so what is counted again is subtracted at the end.
    watch: {
      ...watch,
      onPiece: () => undefined,
      onMoved: (bytes) => {
        moved.bytes += bytes;
        watch.onMoved(bytes);
      },
    },
  };
  try {
    return await mend(engine, quietly, sums);
  } catch (error) {
    throw diskFault(error, { op: "read", subject: target.path, otherwise: "READ_FAILED" });
  } finally {
    watch.onMoved(-moved.bytes);
  }
}

const mismatch = ({ key }: Verified): Fault => new Fault("CHECKSUM_MISMATCH", { op: "cp", subject: key });

async function isRight(
  target: FileToReceive,
  about: { expected: Expected; sums: readonly string[]; signal: AbortSignal },
): Promise<boolean> {
  const { expected, sums, signal } = about;
  switch (expected.kind) {
    case "whole":
      return wholeSum(target.pieces, sums) === expected.crc32;
    case "parts":
      return compositeCrc32(sums) === expected.crc32;
    case "md5":
      return (await readMd5(target, signal)) === expected.md5;
    case "md5-parts":
      return (await readMd5OfParts(target, signal)) === expected.md5;
    case "nothing":
      return true;
  }
}

function wholeSum(pieces: readonly Piece[], sums: readonly string[]): string {
  return pieces.reduce((sum, piece, index) => combineCrc32(sum, sums[index] ?? "00000000", piece.length), "00000000");
}

const READ_BYTES = 512 * 1024;
/** Files up to this size are read synchronously, because handing the read to another thread takes longer. */
const SMALL_BYTES = 256 * 1024;

const readMd5 = async (target: FileToReceive, signal: AbortSignal): Promise<string> =>
  (await md5Of(target, { from: 0, length: target.sizeBytes, signal })).toString("hex");

async function readMd5OfParts(target: FileToReceive, signal: AbortSignal): Promise<string> {
  const sum = createHash("md5");
  for (const { fileOffset: from, length } of target.pieces) sum.update(await md5Of(target, { from, length, signal }));
  return sum.digest("hex");
}

/** Returns the MD5 of a range of a file, which is still in the page cache. @throws Fault READ_FAILED, CANCELLED */
async function md5Of(
  { path, sizeBytes }: FileToReceive,
  about: { from: number; length: number; signal: AbortSignal },
): Promise<Buffer> {
  try {
    if (sizeBytes <= SMALL_BYTES && about.length === sizeBytes) return hash("md5", readSmall(path), "buffer");
    return await md5OfRange(path, about);
  } catch (error) {
    throw diskFault(error, { op: "read", subject: path, otherwise: "READ_FAILED" });
  }
}

/** One buffer for all small files, because thousands of buffers would pile up until they are collected. */
let spare: Buffer | null = null;

/** Reads a small file into the shared buffer; the result is valid until the next call. */
function readSmall(path: string): Buffer {
  spare ??= Buffer.allocUnsafeSlow(SMALL_BYTES);
  const fd = openSync(path, "r");
  try {
    let filled = 0;
    for (let read = -1; read !== 0 && filled < spare.length; filled += read) {
      read = readSync(fd, spare, filled, spare.length - filled, filled);
    }
    return spare.subarray(0, filled);
  } finally {
    closeSync(fd);
  }
}

async function md5OfRange(path: string, about: { from: number; length: number; signal: AbortSignal }): Promise<Buffer> {
  const { from, length, signal } = about;
  const sum = createHash("md5");
  const handle = await open(path, "r");
  try {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.max(1, length)));
    for (let done = 0; done < length;) {
      if (signal.aborted) throw new Fault("CANCELLED");
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, length - done), from + done);
      if (bytesRead === 0) break;
      sum.update(buffer.subarray(0, bytesRead));
      done += bytesRead;
    }
  } finally {
    await handle.close();
  }
  return sum.digest();
}

async function mend(engine: Engine, job: Verified, sums: string[]): Promise<"verified" | "unverified"> {
  const { ask, key, target, watch } = job;
  if (job.expected.kind === "md5" || job.expected.kind === "md5-parts") {
    const { sum, isOpaque } = await ask.head(key);
    if (isOpaque && sum === null) return "unverified";
    if (sum?.partCount === null) {
      const expected: Expected = { kind: "whole", crc32: sum.crc32 };
      if (await isRight(target, { expected, sums, signal: watch.signal })) return "verified";
      return readAgain(engine, { ...job, expected }, sums);
    }
  }
  const parts = job.expected.kind === "parts" ? await ask.partSums(key) : null;
  return parts !== null && isAllOf(parts, job) ? byParts(engine, job, parts) : readAgain(engine, job, sums);
}

/** Tells whether these parts add up to the object's size and composite checksum. */
function isAllOf(parts: readonly PartSum[], { expected, target }: Verified): boolean {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  const isTheSum = expected.kind === "parts" && compositeCrc32(parts.map(({ crc32 }) => crc32)) === expected.crc32;
  return isTheSum && bytes === target.sizeBytes;
}

/** Fetches again only the parts whose bytes on disk differ from the store's checksum of the part. */
async function byParts(engine: Engine, job: Verified, parts: readonly PartSum[]): Promise<"verified"> {
  const { key, target, memory, watch } = job;
  const [first] = target.pieces;
  const pieces: Piece[] = [];
  let at = 0;
  for (const { length, crc32 } of parts) {
    pieces.push({
      key,
      objectOffset: at,
      fileOffset: at,
      length,
      crc32,
      etag: first?.etag ?? null,
      modifiedAtMs: first?.modifiedAtMs ?? null,
    });
    at += length;
  }
  const handle = await open(target.path, "r");
  const written: Promise<void>[] = [];
  try {
    for (const piece of pieces) {
      const { fileOffset: offset, length, crc32 } = piece;
      const sum = await checksumSlice({ fd: handle.fd, path: target.path, offset, length });
      written.push(sum === crc32 ? memory.done(target.path, piece, sum) : memory.forget(target.path, piece));
    }
  } finally {
    await Promise.allSettled(written);
    await handle.close();
  }
  await Promise.all(written);
  await receiveFile(engine, { ...target, pieces }, { memory, watch });
  return "verified";
}

/** Fetches everything again, because it is unknown which bytes are wrong; pieces that arrive equal twice are right. */
async function readAgain(engine: Engine, job: Verified, first: string[]): Promise<"verified" | "unverified"> {
  const { target, expected, memory, watch } = job;
  let suspects: readonly Piece[] = target.pieces;
  let before = first;
  for (let readings = 0; readings < MOST_READINGS_AGAIN; readings++) {
    await Promise.all(suspects.map((piece) => memory.forget(target.path, piece)));
    const sums = await receiveFile(engine, target, { memory, watch });
    if (await isRight(target, { expected, sums, signal: watch.signal })) return "verified";
    suspects = target.pieces.filter((_, index) => sums[index] !== before[index]);
    before = sums;
    if (suspects.length === 0 && (await isInDoubt(job))) return "unverified";
    if (suspects.length === 0) break;
  }
  await Promise.all(target.pieces.map((piece) => memory.forget(target.path, piece)));
  await removeOwned("download-part", target.path);
  throw mismatch(job);
}

/** Tells whether bytes that the store sent twice may be right although the checksum differs. */
async function isInDoubt({ expected, ask, key, target, onNoMd5 }: Verified): Promise<boolean> {
  if (expected.kind === "md5" || expected.kind === "md5-parts") {
    onNoMd5();
    return true;
  }
  if (expected.kind !== "parts") return false;
  // Unless the store confirms the part length, the composite checksum may be over parts of other lengths.
  return (await ask.partBytes(key)) !== target.pieces[0]?.length;
}
