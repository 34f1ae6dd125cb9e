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
 * Fetches one object and compares it with what the store keeps of it. Bytes that came wrong are found and only those
 * come again: by the sums of the parts where the store tells them; otherwise everything is read once more, and what came
 * differently the second time was wrong once. Bytes that came equal twice are the store's own: against the CRC32 of the
 * object that is a fault, while an ETag that is no MD5 after all, or parts of unequal length, leave them unverified.
 */
export interface Verified {
  key: string;
  target: FileToReceive;
  expected: Expected;
  memory: ReceiveMemory;
  watch: ReceiveWatch;
  ask: AskObject;
  /** The ETag looked like an MD5 and is none. */
  onNoMd5(): void;
}

/** After the second reading, the pieces that differed are read a third time; then the way to the store is at fault. */
const MOST_READINGS_AGAIN = 3;

/** Faults: those of `receiveFile`; CHECKSUM_MISMATCH, after which nothing of the file is kept. */
export async function receiveVerified(engine: Engine, job: Verified): Promise<"verified" | "unverified"> {
  const { target, expected, memory, watch } = job;
  const sums = await receiveFile(engine, target, { memory, watch });
  if (expected.kind === "nothing") return "unverified";
  if (await isRight(target, { expected, sums, signal: watch.signal })) return "verified";
  watch.onRetry(mismatch(job));
  const moved = { bytes: 0 };
  const quietly: Verified = {
    ...job,
    // These bytes are on the screen already.
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
/** Read at once: a hand-over to another thread would take longer. */
const SMALL_BYTES = 256 * 1024;

const readMd5 = async (target: FileToReceive, signal: AbortSignal): Promise<string> =>
  (await md5Of(target, { from: 0, length: target.sizeBytes, signal })).toString("hex");

async function readMd5OfParts(target: FileToReceive, signal: AbortSignal): Promise<string> {
  const sum = createHash("md5");
  for (const { fileOffset: from, length } of target.pieces) sum.update(await md5Of(target, { from, length, signal }));
  return sum.digest("hex");
}

/** The file was just written, so it is read from memory. Faults: READ_FAILED, CANCELLED. */
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

/** Thousands of small files, each in a buffer of its own, would be felt as memory. */
let spare: Buffer | null = null;

/** Valid until the next call. */
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

/** Whether these are the parts that the sum of the object is over. */
function isAllOf(parts: readonly PartSum[], { expected, target }: Verified): boolean {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  const isTheSum = expected.kind === "parts" && compositeCrc32(parts.map(({ crc32 }) => crc32)) === expected.crc32;
  return isTheSum && bytes === target.sizeBytes;
}

/** The store says the sum of each part: what is right on the disk stays. */
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

/** Nobody says which bytes are wrong: what comes equal twice is what the store has. */
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

/** Whether bytes that are the store's own may differ from what was expected and be right all the same. */
async function isInDoubt({ expected, ask, key, target, onNoMd5 }: Verified): Promise<boolean> {
  if (expected.kind === "md5" || expected.kind === "md5-parts") {
    onNoMd5();
    return true;
  }
  if (expected.kind !== "parts") return false;
  // Unless the store says that its parts are as long as the pieces, the sum may be over other parts.
  return (await ask.partBytes(key)) !== target.pieces[0]?.length;
}
