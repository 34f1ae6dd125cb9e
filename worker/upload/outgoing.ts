import { createHash } from "node:crypto";
import type { Extent } from "#protocol/checkpoint/checkpoint.ts";
import type { FilePath } from "#protocol/base/names.ts";
import { packPath } from "#protocol/checkpoint/packing.ts";
import { plainBytesOf, SEAL_TAG_BYTES, SEGMENT_PLAIN_BYTES, sealedBytes } from "#protocol/checkpoint/sealing.ts";
import { combineCrc32 } from "#storage/checksums/combine-crc32.ts";
import { cutEvenly, planParts, type PartPlan } from "#storage/s3/plan.ts";
import { fileKeyOf, hiddenPathOf } from "#storage/encryption/checkpoint-key.ts";
import type { Engine } from "../transfer/engine.ts";
import type { FileIdentity } from "../base/file-identity.ts";
import type { PartSums } from "../transfer/upload/read-part.ts";
import type { SendJob } from "../transfer/upload/send-job.ts";
import type { Capture, CapturedFile } from "../capture/capture.ts";
import { openPackSource, type PackedFile } from "./pack-source.ts";
import type { Seal, SealedFile } from "./seal-capture.ts";
import { openSealedFile, openSealedPack } from "./sealed-source.ts";

/** A file of a capture in an object, with its place there. */
interface Member {
  file: CapturedFile;
  /** Index among the files of the capture. */
  fileIndex: number;
  /** Bytes before it in the object. */
  offset: number;
  /** Bytes in the object. */
  length: number;
  /** Length and CRC32 in the object, when the file is encrypted there. */
  stored?: { length: number; crc32: string };
}

/** An object to send: one file, or the pack of many. */
export interface Outgoing extends Pick<SendJob, "path" | "identity" | "plan" | "knownSums" | "open"> {
  /** Name that becomes part of the key. */
  name: FilePath;
  isPack: boolean;
  isSealed: boolean;
  /** Files in the order of their bytes in the object. */
  members: readonly Member[];
}

/**
 * Returns the objects of a capture, as they were planned at capture. Empty files have none. `seal`: keys for encryption; null:
 * files are sent as they are.
 */
export function outgoingOf(
  engine: Pick<Engine, "traits">,
  { files }: Pick<Capture, "files">,
  seal: Seal | null = null,
): Outgoing[] {
  const packs = new Map<number, Member[]>();
  const outgoing: Outgoing[] = [];
  for (const [fileIndex, file] of files.entries()) {
    if (file.pack === undefined) {
      const sealed = seal?.files[fileIndex];
      if (seal === null || sealed === undefined) outgoing.push(fileAlone(engine, file, fileIndex));
      else outgoing.push(sealedAlone({ seal, sealed }, file, fileIndex));
      continue;
    }
    const members = packs.get(file.pack) ?? [];
    const last = members.at(-1);
    const offset = last === undefined ? 0 : last.offset + last.length;
    const plainBytes = file.frame?.length ?? file.sizeBytes;
    const stored = seal === null ? undefined : { length: sealedBytes(plainBytes), crc32: sealedSum(seal, fileIndex) };
    const length = stored?.length ?? plainBytes;
    members.push({ file, fileIndex, offset, length, ...(stored !== undefined && { stored }) });
    packs.set(file.pack, members);
  }
  for (const [number, members] of packs) outgoing.push(packOf(number, members, seal));
  return outgoing;
}

function fileAlone(engine: Pick<Engine, "traits">, file: CapturedFile, fileIndex: number): Outgoing {
  // The plan made at capture applies, unless the store has other limits than were known then.
  const plan = planParts({ sizeBytes: file.sizeBytes, traits: engine.traits, requestedPartBytes: file.partBytes });
  const asCaptured = plan.partBytes === file.partBytes;
  return {
    name: file.path,
    isPack: false,
    isSealed: false,
    members: [{ file, fileIndex, offset: 0, length: file.sizeBytes }],
    path: file.at,
    identity: file.identity,
    plan,
    knownSums: ({ partNumber }) => (asCaptured ? sumsOf(file, partNumber) : null),
  };
}

/**
 * Returns the object of an encrypted file, as planned when it was sealed. Its identity contains the key, so that a journal of
 * an upload under another key does not match.
 */
function sealedAlone(
  { seal, sealed }: { seal: Seal; sealed: SealedFile },
  file: CapturedFile,
  fileIndex: number,
): Outgoing {
  const length = sealedBytes(file.sizeBytes);
  const { at: path, identity } = file;
  const from = sealed.firstTag * SEAL_TAG_BYTES;
  const tags = seal.tags.subarray(from, from + Math.ceil(file.sizeBytes / SEGMENT_PLAIN_BYTES) * SEAL_TAG_BYTES);
  const fileKey = fileKeyOf(seal.key, file.path);
  return {
    name: seal.hideNames ? hiddenPathOf(seal.key, file.path) : file.path,
    isPack: false,
    isSealed: true,
    members: [{ file, fileIndex, offset: 0, length }],
    path,
    identity: { ...identity, ino: `${identity.ino} ${digestOf(seal.wrapped)}` },
    plan: { partBytes: sealed.partBytes, parts: cutEvenly(length, sealed.partBytes) },
    knownSums: ({ partNumber }) => {
      const sums = sealed.stored[partNumber - 1];
      if (sums === undefined) return null;
      const { crc32, md5 } = sums;
      return { crc32, ...(md5 !== undefined && { md5 }) };
    },
    open: () => openSealedFile({ path, identity, fileKey, tags }),
  };
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);
const sealedSum = ({ files }: Seal, fileIndex: number): string => files[fileIndex]?.stored[0]?.crc32 ?? "";

/** Returns the sums that were computed at capture. */
function sumsOf(file: CapturedFile, partNumber: number): PartSums | null {
  const [crc32, md5] = [file.sums[partNumber - 1], file.md5s?.[partNumber - 1]];
  return crc32 === undefined ? null : { crc32, ...(md5 === undefined ? {} : { md5 }) };
}

const storedSum = ({ file, stored }: Member): string => stored?.crc32 ?? file.frame?.crc32 ?? file.sums[0] ?? "";

/** Returns the object of a pack. It is sent in one request, because it is far below the limit of any store. */
function packOf(number: number, members: readonly Member[], seal: Seal | null): Outgoing {
  const name = packPath(number);
  const sizeBytes = members.reduce((sum, { length }) => sum + length, 0);
  const plan: PartPlan = { partBytes: sizeBytes, parts: [{ partNumber: 1, offset: 0, length: sizeBytes }] };
  const crc32 = members.reduce((sum, one) => combineCrc32(sum, storedSum(one), one.length), "00000000");
  const packed = members.map((one): PackedFile => ({
    path: one.file.at,
    identity: one.file.identity,
    length: one.length,
    crc32: storedSum(one),
  }));
  return {
    name,
    isPack: true,
    isSealed: seal !== null,
    members,
    path: name,
    identity: identityOfPack(packed, sizeBytes),
    plan,
    knownSums: () => ({ crc32 }),
    open: () => Promise.resolve(seal === null ? openPackSource(packed) : sealedPackOf(members, seal)),
  };
}

const sealedPackOf = (members: readonly Member[], seal: Seal) =>
  openSealedPack(
    members.map((one) => ({
      path: one.file.at,
      identity: one.file.identity,
      fileKey: fileKeyOf(seal.key, one.file.path),
      length: one.length,
      crc32: storedSum(one),
    })),
  );

/** Returns the identity of a pack, made from its composition: a journal that remembers another composition does not match. */
function identityOfPack(files: readonly PackedFile[], sizeBytes: number): FileIdentity {
  const hash = createHash("sha256");
  for (const { path, identity, length, crc32 } of files) {
    hash.update(`${path}\0${identity.ino}\0${identity.mtimeNs}\0${length}\0${crc32}\n`);
  }
  return { dev: "pack", ino: hash.digest("hex"), sizeBytes, mtimeNs: "0" };
}

/** Gives an extent the checksum of the stored bytes. Sums of a file's own bytes are only for holders of the key. */
const sealedExtent = ({ key, offset, length, crc32, etag }: Extent): Extent => ({
  key,
  offset,
  length: plainBytesOf(length),
  crc32,
  etag,
  stored: { length, crc32 },
});

/** Returns the extents of each file, by its index, once its object is stored. `extents` are those of the object. */
export function extentsOf({ isPack, isSealed, members }: Outgoing, extents: readonly Extent[]): [number, Extent[]][] {
  const [whole] = extents;
  if (isSealed && !isPack) return members.map(({ fileIndex }) => [fileIndex, extents.map(sealedExtent)]);
  if (!isPack || whole === undefined) return members.map(({ fileIndex }) => [fileIndex, [...extents]]);
  const { key, etag } = whole;
  return members.map(({ file, fileIndex, offset, stored }) => {
    const { frame, sizeBytes: length, sums } = file;
    if (stored !== undefined) return [fileIndex, [{ key, offset, length, crc32: stored.crc32, etag, stored }]];
    const extent = { key, offset, length, crc32: sums[0] ?? "", etag };
    return [fileIndex, [frame === undefined ? extent : { ...extent, stored: frame }]];
  });
}
