import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import type { StoreChecksum } from "#protocol/wire/store-checksum.ts";
import { SEAL_TAG_BYTES, SEGMENT_BYTES, SEGMENT_PLAIN_BYTES } from "#protocol/checkpoint/sealing.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import type { PlannedPart } from "#storage/s3/plan.ts";
import { sealSegment, sealWhole, segmentAt } from "#storage/encryption/segments.ts";
import { diskFault } from "../base/disk-fault.ts";
import { assertUnchanged, isSameFile } from "../base/identity.ts";
import { identityOf, type FileIdentity } from "../base/file-identity.ts";
import { readFully, type PartReader, type PartSums } from "../transfer/upload/read-part.ts";
import type { SendSource } from "../transfer/upload/send-source.ts";
import { fileAt, startsOf } from "../capture/pack-places.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";
import { sumBytes } from "../base/sum-bytes.ts";

/**
 * Encrypts captured files while they are sent. A segment is encrypted whole in memory and compared with its tag from the
 * sealing of the capture. Only then may any of its bytes be sent.
 */

interface Piece {
  /** Bytes from `start` of the object on, whole in memory. */
  bytes: Buffer;
  start: number;
}

/** Returns the piece of an object that holds a position; its buffers are lent until `done`. */
interface Pieces {
  at(position: number): Piece | Promise<Piece>;
  done(): void;
}

const changed = (path: string) =>
  new Fault("SOURCE_CHANGED", { op: "read", subject: path, detail: "its bytes changed" });

/** Returns a reader that reads in order; see `PartReader`. */
function readerOf(part: PlannedPart, pieces: Pieces, about: { crc32Hex: string | null; path: string }): PartReader {
  let sum = 0;
  let current: Piece | null = null;
  const took = (piece: Piece, into: Buffer, at: number): number => {
    current = piece;
    const from = part.offset + at - piece.start;
    const length = Math.min(into.length, part.length - at, piece.bytes.length - from);
    const bytes = piece.bytes.subarray(from, from + length);
    if (about.crc32Hex !== null) {
      sum = sumBytes(bytes, at === 0 ? 0 : sum);
      const isEnd = at + length === part.length;
      if (isEnd && sum !== Number.parseInt(about.crc32Hex, 16)) throw changed(about.path);
    }
    bytes.copy(into);
    if (at + length === part.length) {
      current = null;
      pieces.done();
    }
    return length;
  };
  return {
    read: (into, at) => {
      const position = part.offset + at;
      const isHere = current !== null && position >= current.start && position < current.start + current.bytes.length;
      if (isHere && current !== null) return took(current, into, at);
      const piece = pieces.at(position);
      return piece instanceof Promise ? piece.then((later) => took(later, into, at)) : took(piece, into, at);
    },
  };
}

const SUM_BYTES = 64 * 1024;

async function sumPart({ read }: PartReader, part: PlannedPart, checksum: StoreChecksum): Promise<PartSums> {
  const buffer = Buffer.allocUnsafe(SUM_BYTES);
  const md5 = checksum === "md5" ? createHash("md5") : null;
  let sum = 0;
  for (let done = 0; done < part.length;) {
    const length = await read(buffer, done);
    const chunk = buffer.subarray(0, length);
    sum = sumBytes(chunk, sum);
    md5?.update(chunk);
    done += length;
    if (done % SEGMENT_BYTES === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return { crc32: sumToHex(sum), ...(md5 !== null && { md5: md5.digest("hex") }) };
}

const sourceOf = (
  about: { path: string; assertUnchanged(): Promise<void>; close(): Promise<void> },
  pieces: () => Pieces,
): SendSource => ({
  assertUnchanged: about.assertUnchanged,
  close: about.close,
  reader: (part, sum) => readerOf(part, pieces(), { crc32Hex: sum, path: about.path }),
  placeOf: () => null,
  sum: (part, checksum) => sumPart(readerOf(part, pieces(), { crc32Hex: null, path: about.path }), part, checksum),
});

/** Buffers of one reader: a plain segment and an encrypted one. */
interface Room {
  plain: Buffer;
  sealed: Buffer;
}
const spare: Room[] = [];
const MOST_SPARE = 16;
const takeRoom = (): Room =>
  spare.pop() ?? {
    plain: Buffer.allocUnsafeSlow(SEGMENT_PLAIN_BYTES),
    sealed: Buffer.allocUnsafeSlow(SEGMENT_BYTES),
  };

export interface FileToSeal {
  path: string;
  identity: FileIdentity;
  fileKey: Buffer;
  /** Tags of its segments, one behind another. */
  tags: Buffer;
}

/** Opens one file that is an object by itself. Faults: READ_FAILED, SOURCE_CHANGED. */
export async function openSealedFile({ path, identity, fileKey, tags }: FileToSeal): Promise<SendSource> {
  const { sizeBytes } = identity;
  const handle = await open(path, "r").catch((error: unknown) => {
    throw diskFault(error, { op: "read", subject: path, otherwise: "READ_FAILED" });
  });
  try {
    await assertUnchanged(handle, { path, identity });
  } catch (error) {
    await handle.close();
    throw error;
  }
  const pieces = (): Pieces => {
    let room: Room | null = null;
    return {
      at: (position) => {
        room ??= takeRoom();
        const { plain, sealed } = room;
        const index = Math.floor(position / SEGMENT_BYTES);
        const from = index * SEGMENT_PLAIN_BYTES;
        const text = plain.subarray(0, Math.min(SEGMENT_PLAIN_BYTES, sizeBytes - from));
        const seal = (): Piece => {
          const length = sealSegment(fileKey, segmentAt(sizeBytes, index), { plain: text, into: sealed });
          const tag = tags.subarray(index * SEAL_TAG_BYTES, (index + 1) * SEAL_TAG_BYTES);
          if (!sealed.subarray(length - SEAL_TAG_BYTES, length).equals(tag)) throw changed(path);
          return { bytes: sealed.subarray(0, length), start: index * SEGMENT_BYTES };
        };
        const reading = readFully({ fd: handle.fd, path }, text, from);
        return reading === undefined ? seal() : reading.then(seal);
      },
      done: () => {
        if (room !== null && spare.length < MOST_SPARE) spare.push(room);
        room = null;
      },
    };
  };
  return sourceOf(
    { path, assertUnchanged: () => assertUnchanged(handle, { path, identity }), close: () => handle.close() },
    pieces,
  );
}

export interface PackedToSeal {
  path: string;
  identity: FileIdentity;
  fileKey: Buffer;
  /** Encrypted bytes in the pack, and their CRC32. */
  length: number;
  crc32: string;
}

/** Opens files that lie one behind another, each sealed by itself. Only one file is in memory at a time. */
export function openSealedPack(files: readonly PackedToSeal[]): SendSource {
  const starts = startsOf(files);
  const load = async (index: number): Promise<Piece> => {
    const file = files[index];
    if (file === undefined) throw new Fault("INTERNAL", { op: "read", detail: "a pack has no such byte" });
    try {
      const handle = await open(file.path, "r");
      try {
        if (!isSameFile(identityOf(await handle.stat({ bigint: true })), file.identity, file.path))
          throw changed(file.path);
        const bytes = sealWhole(file.fileKey, await readFile(handle));
        if (bytes.length !== file.length || crc32Hex(bytes) !== file.crc32) throw changed(file.path);
        return { bytes, start: starts[index] ?? 0 };
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw diskFault(error, { op: "read", subject: file.path, otherwise: "READ_FAILED" });
    }
  };
  const pieces = (): Pieces => ({
    at: (position) => load(fileAt(starts, position)),
    done: () => undefined,
  });
  const path = files[0]?.path ?? "";
  return sourceOf({ path, assertUnchanged: () => Promise.resolve(), close: () => Promise.resolve() }, pieces);
}
