import { open, type FileHandle } from "node:fs/promises";
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import { Fault } from "#protocol/faults/fault.ts";
import { filePath } from "#protocol/base/names.ts";
import { crc32Hex } from "#storage/checksums/crc32.ts";
import { diskFault } from "../base/disk-fault.ts";
import { identityOf } from "../base/file-identity.ts";
import type { CapturedFile } from "./capture.ts";
import type { LookedFile } from "./detection/look.ts";

/**
 * Secures a small file that will lie in a pack: reads it whole, sums it, and writes it where the program cannot reach it.
 * Compressed files are kept compressed, so that the same bytes are sent before and after a kill, whichever version of zstd runs
 * then.
 */

/** Weights, which hardly become smaller, and files that are compressed already. */
const NOT_COMPRESSED =
  /\.(safetensors|pt|pth|bin|ckpt|gguf|npz|npy|distcp|msgpack|h5|onnx|model|zst|gz|xz|bz2|lz4|zip|7z|parquet|arrow|png|jpe?g|webp|gif|mp[34]|pdf)$/i;
/** A frame has to save 5 % to be worth unpacking. */
const WORTH_SHARE = 0.95;
const compress = promisify(zstdCompress);

/**
 * Secures one file at `at`. Faults: SOURCE_CHANGED when its size is not that of the look, NO_SPACE, READ_FAILED, WRITE_FAILED.
 */
export async function secureSmall(
  file: LookedFile,
  { at, zstd }: { at: string; zstd: boolean },
): Promise<CapturedFile> {
  const { relative, identity, mtimeMs } = file;
  const { sizeBytes } = identity;
  const bytes = await readSource(file);
  const frame = zstd && !NOT_COMPRESSED.test(relative) ? await frameOf(bytes) : null;
  const target = await open(at, "wx", 0o600).catch((error: unknown) => {
    throw diskFault(error, { op: "capture", subject: file.path, otherwise: "WRITE_FAILED" });
  });
  try {
    await target.writeFile(frame ?? bytes);
    return {
      path: filePath.parse(relative),
      sizeBytes,
      mtimeMs,
      at,
      identity: identityOf(await target.stat({ bigint: true })),
      partBytes: sizeBytes,
      sums: [crc32Hex(bytes)],
      ...(frame !== null && { frame: { length: frame.length, crc32: crc32Hex(frame) } }),
    };
  } catch (error) {
    throw diskFault(error, { op: "capture", subject: file.path, otherwise: "WRITE_FAILED" });
  } finally {
    await target.close();
  }
}

async function readSource({ path, identity }: LookedFile): Promise<Buffer> {
  const handle: FileHandle = await open(path, "r");
  try {
    const bytes = Buffer.allocUnsafe(identity.sizeBytes);
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled);
      if (bytesRead === 0) {
        throw new Fault("SOURCE_CHANGED", { op: "capture", subject: path, detail: "it became shorter" });
      }
      filled += bytesRead;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

/** Returns the zstd frame of the bytes; null when it would hardly be smaller. */
async function frameOf(bytes: Buffer): Promise<Buffer | null> {
  const frame = await compress(bytes);
  return frame.length < bytes.length * WORTH_SHARE ? frame : null;
}
