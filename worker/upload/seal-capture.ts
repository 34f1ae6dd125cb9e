import { createHash, type Hash } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { crc32Hex } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { StoreTraits } from "#protocol/wire/operations.ts";
import {
  key32,
  type NodeSealing,
  SEAL_TAG_BYTES,
  SEGMENT_BYTES,
  SEGMENT_PLAIN_BYTES,
  sealedBytes,
} from "#protocol/checkpoint/sealing.ts";
import { combineCrc32, sumToHex } from "#storage/checksums/combine-crc32.ts";
import { crc32Hex as sumOf } from "#storage/checksums/crc32.ts";
import { planParts } from "#storage/s3/plan.ts";
import { fileKeyOf, newCheckpointKey, wrapCheckpointKey } from "#storage/encryption/checkpoint-key.ts";
import { sealSegment, sealWhole, segmentAt } from "#storage/encryption/segments.ts";
import { removeOwned, renameOwned } from "../base/disk/change-disk.ts";
import { diskFault } from "../base/disk-fault.ts";
import { assertUnchanged } from "../base/identity.ts";
import { readFully } from "../transfer/upload/read-part.ts";
import { readStateFile, writeStateFile } from "../host/state-file.ts";
import type { Capture, CapturedFile } from "../capture/capture.ts";
import { sumBytes } from "../base/sum-bytes.ts";

/**
 * Prepares a capture for encrypted sending. Encrypted bytes are never written to the disk: they are made anew for each send,
 * and always the same. So one key is made per capture and kept beside it until the capture is gone. One pass over the files
 * computes the sums of all parts and the tags of all segments, which are kept too. Each reader compares a segment with its tag
 * before a byte is sent. So no two texts are sent under one key and nonce, whatever a program does to its files.
 */

const sealedFile = z.object({
  /** Part size of the object, for a file that lies in no pack. */
  partBytes: z.number(),
  /** CRC32 of the file's own bytes, one for each part. */
  sums: z.array(crc32Hex),
  /** Sums of the encrypted parts. */
  stored: z.array(z.object({ crc32: crc32Hex, md5: z.string().optional() })),
  /** Index of the tag of its first segment. */
  firstTag: z.number(),
});
export type SealedFile = z.infer<typeof sealedFile>;

const record = z.object({
  keyId: z.string(),
  key: key32,
  wrapped: z.string(),
  /** Setting of the last send; left out by an earlier version. */
  hideNames: z.boolean().optional(),
  files: z.array(sealedFile),
  /** Length of the file of tags. */
  tagBytes: z.number(),
  tagSum: crc32Hex,
});

export interface Seal {
  keyId: string;
  key: Buffer;
  wrapped: string;
  hideNames: boolean;
  /** In the order of the capture's files. */
  files: readonly SealedFile[];
  /** Tags of all segments of files that lie in no pack, one behind another. */
  tags: Buffer;
}

interface Sealing {
  capture: Pick<Capture, "id" | "run" | "step" | "folder" | "files">;
  sealing: NodeSealing;
  traits: StoreTraits;
  signal: AbortSignal;
}

const placeOf = ({ capture }: Pick<Sealing, "capture">) => join(capture.folder, "seal.json");
const tagsOf = ({ capture }: Pick<Sealing, "capture">) => join(capture.folder, "seal.tags");

/**
 * Returns the seal under which the capture was saved. A copy elsewhere is the same bytes under the same key, whatever that
 * bucket's profile asks for. Null: it was saved unencrypted. Faults: BAD_INPUT when the other store cannot take the same parts,
 * or when the seal is damaged.
 */
export async function sealAsSaved(about: Omit<Sealing, "sealing">): Promise<Seal | null> {
  const known = await readStateFile(placeOf(about), record);
  if (known === null) return null;
  const { keyId, hideNames = false } = known;
  const seal = await readSeal({ ...about, sealing: { keyId, hideNames } });
  if (seal !== null) return seal;
  const detail = "its encrypted parts do not fit this store";
  throw new Fault("BAD_INPUT", { op: "copy", subject: about.capture.run, detail });
}

/** Removes the seal when encryption was switched off before the capture was saved: it is saved and copied unencrypted. */
export const forgetSeal = (capture: Pick<Capture, "folder">): Promise<void> =>
  removeOwned("state-file", join(capture.folder, "seal.json"));

/**
 * Returns the earlier seal, or makes one under a new key. Faults: SOURCE_CHANGED, READ_FAILED, WRITE_FAILED, NO_SPACE,
 * CANCELLED.
 */
export async function sealCapture(about: Sealing): Promise<Seal> {
  return (await readSeal(about)) ?? makeSeal(about);
}

/** Returns null when there is no seal, or none for this key and this store. */
async function readSeal(
  about: Omit<Sealing, "sealing"> & { sealing: Pick<NodeSealing, "keyId" | "hideNames"> },
): Promise<Seal | null> {
  const { capture, sealing, traits } = about;
  const known = await readStateFile(placeOf(about), record);
  if (known === null || known.keyId !== sealing.keyId || known.files.length !== capture.files.length) return null;
  const fits = capture.files.every((file, at) => known.files[at]?.partBytes === partBytesOf(file, traits));
  const tags = await readFile(tagsOf(about)).catch(() => null);
  if (!fits || tags === null || tags.length !== known.tagBytes || sumOf(tags) !== known.tagSum) return null;
  const { keyId, wrapped, files } = known;
  const { hideNames } = sealing;
  const seal = { keyId, key: Buffer.from(known.key, "base64url"), wrapped, hideNames, files, tags };
  if (known.hideNames !== hideNames) await writeSeal(about, seal);
  return seal;
}

const plainParts = (file: CapturedFile) => file.frame?.length ?? file.sizeBytes;

/** Returns the part size of the encrypted file; a file in a pack is one piece. */
const partBytesOf = (file: CapturedFile, traits: StoreTraits): number =>
  file.pack === undefined
    ? planParts({ sizeBytes: sealedBytes(file.sizeBytes), traits, requestedPartBytes: file.partBytes }).partBytes
    : sealedBytes(plainParts(file));

async function makeSeal(about: Sealing): Promise<Seal> {
  const { capture, sealing, signal } = about;
  const key = newCheckpointKey();
  const { keyId, hideNames } = sealing;
  const wrapped = wrapCheckpointKey(sealing.publicKey, key, {
    keyId,
    id: capture.id,
    run: capture.run,
    step: capture.step,
  });
  const files: SealedFile[] = [];
  const tags: Buffer[] = [];
  for (const file of capture.files) {
    if (signal.aborted) throw new Fault("CANCELLED");
    const fileKey = fileKeyOf(key, file.path);
    files.push(
      file.pack === undefined ? await sumAlone(about, { file, fileKey, tags }) : await sumPacked(file, fileKey),
    );
  }
  const seal: Seal = { keyId, key, wrapped, hideNames, files, tags: Buffer.concat(tags) };
  await writeSeal(about, seal);
  return seal;
}

async function writeSeal(
  about: Pick<Sealing, "capture">,
  { key, tags, keyId, wrapped, hideNames, files }: Seal,
): Promise<void> {
  const place = tagsOf(about);
  try {
    await removeOwned("state-file", `${place}.new`);
    const handle = await open(`${place}.new`, "wx", 0o600);
    try {
      await handle.writeFile(tags);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await renameOwned("state-file", `${place}.new`, place);
  } catch (error) {
    await removeOwned("state-file", `${place}.new`).catch(() => undefined);
    throw diskFault(error, { op: "seal", subject: place, otherwise: "WRITE_FAILED" });
  }
  // Written last, because it describes the file of tags.
  await writeStateFile(placeOf(about), {
    keyId,
    key: key.toString("base64url"),
    wrapped,
    hideNames,
    files: [...files],
    tagBytes: tags.length,
    tagSum: sumOf(tags),
  });
}

const changed = ({ at }: CapturedFile) =>
  new Fault("SOURCE_CHANGED", { op: "seal", subject: at, detail: "its bytes changed" });

async function sumPacked(file: CapturedFile, fileKey: Buffer): Promise<SealedFile> {
  const bytes = await readFile(file.at).catch((error: unknown) => {
    throw diskFault(error, { op: "read", subject: file.at, otherwise: "READ_FAILED" });
  });
  if (sumOf(bytes) !== (file.frame?.crc32 ?? file.sums[0])) throw changed(file);
  const sealed = sealWhole(fileKey, bytes);
  return {
    partBytes: sealed.length,
    sums: file.sums.slice(0, 1),
    stored: [{ crc32: sumOf(sealed) }],
    firstTag: 0,
  };
}

/** Segments between two turns of the event loop. */
const SEGMENTS_AT_A_TIME = 4;

async function sumAlone(
  { traits, signal }: Sealing,
  { file, fileKey, tags }: { file: CapturedFile; fileKey: Buffer; tags: Buffer[] },
): Promise<SealedFile> {
  const partBytes = partBytesOf(file, traits);
  const found: SealedFile = { partBytes, sums: [], stored: [], firstTag: tags.length };
  if (file.sizeBytes === 0) return found;
  const handle = await open(file.at, "r").catch((error: unknown) => {
    throw diskFault(error, { op: "read", subject: file.at, otherwise: "READ_FAILED" });
  });
  const plain = Buffer.allocUnsafeSlow(SEGMENT_PLAIN_BYTES);
  const sealed = Buffer.allocUnsafeSlow(SEGMENT_BYTES);
  try {
    await assertUnchanged(handle, { path: file.at, identity: file.identity });
    let part = beginPart(traits);
    let whole = "00000000";
    const endPart = () => {
      whole = combineCrc32(whole, sumToHex(part.plain), part.plainBytes);
      found.sums.push(sumToHex(part.plain));
      found.stored.push({ crc32: sumToHex(part.stored), ...(part.md5 !== null && { md5: part.md5.digest("hex") }) });
      part = beginPart(traits);
    };
    const count = Math.ceil(file.sizeBytes / SEGMENT_PLAIN_BYTES);
    for (let index = 0; index < count; index++) {
      const from = index * SEGMENT_PLAIN_BYTES;
      const bytes = plain.subarray(0, Math.min(SEGMENT_PLAIN_BYTES, file.sizeBytes - from));
      const reading = readFully({ fd: handle.fd, path: file.at }, bytes, from);
      if (reading !== undefined) await reading;
      const length = sealSegment(fileKey, segmentAt(file.sizeBytes, index), { plain: bytes, into: sealed });
      const text = sealed.subarray(0, length);
      tags.push(Buffer.from(text.subarray(-SEAL_TAG_BYTES)));
      part.plain = sumBytes(bytes, part.plain);
      part.stored = sumBytes(text, part.stored);
      part.md5?.update(text);
      part.plainBytes += bytes.length;
      part.storedBytes += length;
      if (part.storedBytes === partBytes) endPart();
      if (index % SEGMENTS_AT_A_TIME === 0) await new Promise<void>((resolve) => setImmediate(resolve));
      if (signal.aborted) throw new Fault("CANCELLED");
    }
    if (part.storedBytes > 0) endPart();
    await assertUnchanged(handle, { path: file.at, identity: file.identity });
    if (whole !== capturedSum(file)) throw changed(file);
    return found;
  } finally {
    await handle.close();
  }
}

interface PartSum {
  plain: number;
  plainBytes: number;
  stored: number;
  storedBytes: number;
  md5: Hash | null;
}

const beginPart = ({ checksum }: StoreTraits): PartSum => ({
  plain: 0,
  plainBytes: 0,
  stored: 0,
  storedBytes: 0,
  md5: checksum === "md5" ? createHash("md5") : null,
});

/** Returns the sum of the whole file, combined from the part sums of the capture. */
function capturedSum({ sums, partBytes, sizeBytes }: CapturedFile): string {
  return sums.reduce(
    (sum, part, index) => combineCrc32(sum, part, Math.min(partBytes, sizeBytes - index * partBytes)),
    "00000000",
  );
}
