import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import type { PlannedPart } from "#storage/s3/plan.ts";
import { diskFault } from "../base/disk-fault.ts";
import { isSameFile } from "../base/identity.ts";
import { identityOf, type FileIdentity } from "../base/file-identity.ts";
import type { PartReader } from "../transfer/upload/read-part.ts";
import type { SendSource } from "../transfer/upload/send-source.ts";
import { fileAt, startsOf } from "../capture/pack-places.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";
import { sumBytes } from "../base/sum-bytes.ts";

/**
 * Reads the bytes of a pack: those of its files one behind another, from the files themselves whenever they are needed. No file
 * stays open between two reads, so that any number of packs may be under way or be given up. An opened file has to be the
 * captured one, and at its end it has to have the checksum of the capture. The store checks the sum of the pack only, and files
 * inside must not be mixed up.
 */
export interface PackedFile {
  path: string;
  identity: FileIdentity;
  /** Its bytes in the pack. */
  length: number;
  /** CRC32 of these bytes, hex. */
  crc32: string;
}

/** Files that are read before the event loop gets its turn; more of them fit in one buffer only if they are tiny. */
const MOST_AT_ONCE = 64;
/** A read that took longer did not come from memory, so the next ones must not block the event loop. */
const SLOW_READ_MS = 12;
const READS_LATER = 32;
const SUM_BYTES = 64 * 1024;

/** Bytes of one file that go into a slice of a buffer. */
interface Stretch {
  file: PackedFile;
  index: number;
  /** Offset in the file. */
  offset: number;
  into: Buffer;
}

export function openPackSource(files: readonly PackedFile[]): SendSource {
  const starts = startsOf(files);
  let readsToDoLater = 0;

  /** Returns the pieces of files that fill `into` from `position` of the pack, as far as one call reads. */
  const stretchesOf = (into: Buffer, position: number): Stretch[] => {
    const found: Stretch[] = [];
    let filled = 0;
    for (let index = fileAt(starts, position); filled < into.length && found.length < MOST_AT_ONCE; index++) {
      const [file, start] = [files[index], starts[index]];
      if (file === undefined || start === undefined) break;
      const offset = position + filled - start;
      const length = Math.min(file.length - offset, into.length - filled);
      found.push({ file, index, offset, into: into.subarray(filled, filled + length) });
      filled += length;
    }
    return found;
  };
  const fill = (stretches: readonly Stretch[]): void | Promise<void> => {
    if (readsToDoLater > 0) {
      readsToDoLater--;
      return fillLater(stretches);
    }
    const startedAt = performance.now();
    for (const stretch of stretches) readNow(stretch);
    if (performance.now() - startedAt > SLOW_READ_MS) readsToDoLater = READS_LATER;
  };

  const reader = (part: PlannedPart, crc32Hex: string | null): PartReader => {
    /** Running sum of the present file, as far as it was read from its start; null when it was not. */
    let inFile: { index: number; read: number; sum: number } | null = null;
    let sum = 0;
    const took = (stretches: readonly Stretch[], at: number): number => {
      let bytes = 0;
      for (const { file, index, offset, into } of stretches) {
        if (offset === 0) inFile = { index, read: 0, sum: 0 };
        if (inFile?.index === index && inFile.read === offset) {
          inFile = { index, read: offset + into.length, sum: sumBytes(into, inFile.sum) };
          if (inFile.read === file.length && inFile.sum !== Number.parseInt(file.crc32, 16)) throw changed(file);
        } else inFile = null;
        if (crc32Hex !== null) sum = sumBytes(into, at + bytes === 0 ? 0 : sum);
        bytes += into.length;
      }
      // As with a single file, the store never gets the last bytes of a wrong pack.
      if (crc32Hex !== null && at + bytes === part.length && sum !== Number.parseInt(crc32Hex, 16)) {
        throw new Fault("SOURCE_CHANGED", { op: "read", subject: files[0]?.path ?? "", detail: "its bytes changed" });
      }
      return bytes;
    };
    return {
      read: (whole, at) => {
        const stretches = stretchesOf(whole.subarray(0, Math.min(whole.length, part.length - at)), part.offset + at);
        const filling = fill(stretches);
        return filling === undefined ? took(stretches, at) : filling.then(() => took(stretches, at));
      },
    };
  };
  return {
    assertUnchanged: () => Promise.resolve(),
    reader,
    placeOf: () => null,
    sum: async (part, checksum) => {
      const { read } = reader(part, null);
      const buffer = Buffer.allocUnsafe(SUM_BYTES);
      const md5 = checksum === "md5" ? createHash("md5") : null;
      let sum = 0;
      for (let done = 0; done < part.length;) {
        const length = await read(buffer, done);
        const chunk = buffer.subarray(0, length);
        sum = sumBytes(chunk, sum);
        md5?.update(chunk);
        done += length;
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      const hex = sumToHex(sum);
      return { crc32: hex, ...(md5 !== null && { md5: md5.digest("hex") }) };
    },
    close: () => Promise.resolve(),
  };
}

const changed = (file: PackedFile) =>
  new Fault("SOURCE_CHANGED", { op: "read", subject: file.path, detail: "its bytes changed" });
const rewritten = (file: PackedFile) =>
  new Fault("SOURCE_CHANGED", { op: "read", subject: file.path, detail: "it was written again" });
const shorter = (file: PackedFile) =>
  new Fault("SOURCE_CHANGED", { op: "read", subject: file.path, detail: "it became shorter" });

function readNow({ file, offset, into }: Stretch): void {
  try {
    const fd = openSync(file.path, "r");
    try {
      if (!isSameFile(identityOf(fstatSync(fd, { bigint: true })), file.identity, file.path)) throw rewritten(file);
      for (let filled = 0; filled < into.length;) {
        const bytesRead = readSync(fd, into, filled, into.length - filled, offset + filled);
        if (bytesRead === 0) throw shorter(file);
        filled += bytesRead;
      }
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw diskFault(error, { op: "read", subject: file.path, otherwise: "READ_FAILED" });
  }
}

async function fillLater(stretches: readonly Stretch[]): Promise<void> {
  for (const { file, offset, into } of stretches) {
    try {
      const handle = await open(file.path, "r");
      try {
        if (!isSameFile(identityOf(await handle.stat({ bigint: true })), file.identity, file.path))
          throw rewritten(file);
        for (let filled = 0; filled < into.length;) {
          const { bytesRead } = await handle.read(into, filled, into.length - filled, offset + filled);
          if (bytesRead === 0) throw shorter(file);
          filled += bytesRead;
        }
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw diskFault(error, { op: "read", subject: file.path, otherwise: "READ_FAILED" });
    }
  }
}
