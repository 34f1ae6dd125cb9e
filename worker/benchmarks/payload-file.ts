import { createHash, randomFillSync } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { throwIfAborted } from "../base/clock.ts";
import { codeOf, diskFault } from "../base/disk-fault.ts";

const BLOCK_BYTES = 4 * 1024 * 1024;

/**
 * Writes random bytes, which no compression on the way can shrink. @returns their SHA-256. Faults: NO_SPACE, WRITE_FAILED,
 * CANCELLED.
 */
export async function writePayload(path: string, about: { sizeBytes: number; signal: AbortSignal }): Promise<string> {
  const hash = createHash("sha256");
  const block = Buffer.alloc(Math.min(BLOCK_BYTES, about.sizeBytes));
  try {
    const file = await open(path, "w", 0o600);
    try {
      for (let left = about.sizeBytes; left > 0;) {
        throwIfAborted(about.signal);
        const piece = block.subarray(0, Math.min(left, block.length));
        randomFillSync(piece);
        hash.update(piece);
        await file.writeFile(piece);
        left -= piece.length;
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throwIfAborted(about.signal);
    throw diskFault(error, { op: "bench", subject: path, otherwise: "WRITE_FAILED" });
  }
  return hash.digest("hex");
}

/** Returns the SHA-256 of a file; null when there is none. Faults: READ_FAILED. */
export async function digestOf(path: string): Promise<string | null> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(path), hash);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw diskFault(error, { op: "bench", subject: path, otherwise: "READ_FAILED" });
  }
  return hash.digest("hex");
}
