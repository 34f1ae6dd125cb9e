import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { Fault } from "#protocol/faults/fault.ts";
import { openOwn } from "#worker/base/disk/open-own.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import { reserve } from "#worker/transfer/download/reserve.ts";
import type { ShardPlan } from "./plan-tensors.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";
import { sumBytes } from "#worker/base/sum-bytes.ts";

const BUFFER_BYTES = 1024 * 1024;

/**
 * Makes the file of the chosen tensors from `parts`, a sparse file with the verified pieces at their original offsets. A plan
 * from unverified bytes counts only when the verified header is the same. Durable when it resolves; returns its CRC32. Faults:
 * SOURCE_CHANGED, NO_SPACE, WRITE_FAILED, CANCELLED.
 */
export async function writeCut(
  { file, head, cut }: ShardPlan,
  at: { parts: string; place: string; signal: AbortSignal },
): Promise<string> {
  const { parts, place, signal } = at;
  let from: FileHandle | null = null;
  let to: FileHandle | null = null;
  try {
    from = await open(parts, constants.O_RDONLY | constants.O_NOFOLLOW);
    await requireHead(from, { file, head });
    to = await openOwn(place, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW);
    await reserve(to, { path: place, sizeBytes: cut.sizeBytes });
    let sum = sumBytes(cut.header);
    await writeAt(to, cut.header, 0);
    const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    for (const move of cut.moves) {
      for (let done = 0; done < move.length;) {
        if (signal.aborted) throw new Fault("CANCELLED", { op: "restore", subject: file.path });
        const chunk = buffer.subarray(0, Math.min(BUFFER_BYTES, move.length - done));
        await readAt(from, chunk, move.from + done);
        await writeAt(to, chunk, move.to + done);
        sum = sumBytes(chunk, sum);
        done += chunk.length;
      }
    }
    await to.datasync();
    return sumToHex(sum);
  } catch (error) {
    throw diskFault(error, { op: "write", subject: place, otherwise: "WRITE_FAILED" });
  } finally {
    await from?.close();
    await to?.close();
  }
}

async function requireHead(from: FileHandle, { file, head }: Pick<ShardPlan, "file" | "head">): Promise<void> {
  const bytes = Buffer.alloc(head.bytes);
  await readAt(from, bytes, 0);
  if (createHash("sha256").update(bytes).digest("hex") === head.sha256) return;
  const detail = "its header came differently when it was verified";
  throw new Fault("SOURCE_CHANGED", { op: "restore", subject: file.path, detail });
}

async function readAt(handle: FileHandle, into: Buffer, position: number): Promise<void> {
  for (let filled = 0; filled < into.length;) {
    const { bytesRead } = await handle.read(into, filled, into.length - filled, position + filled);
    if (bytesRead === 0)
      throw new Fault("WRITE_FAILED", { op: "read", detail: "the pieces that were fetched are gone" });
    filled += bytesRead;
  }
}

async function writeAt(handle: FileHandle, from: Buffer, position: number): Promise<void> {
  for (let written = 0; written < from.length;) {
    const { bytesWritten } = await handle.write(from, written, from.length - written, position + written);
    written += bytesWritten;
  }
}
