/**
 * Stores the bytes of objects in files that are written once and never changed. Bytes are streamed, so no whole object is
 * in memory. A blob is written and synced under `incoming/`, recorded in the index, and only then moved to `blobs/`. The
 * next start repairs a crash between these steps. A blob that is being read is deleted only after its readers finish.
 */
import { randomBytes } from "node:crypto";
import { renameSync } from "node:fs";
import { mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Durability } from "./database.ts";

/** A byte range of one blob. */
export type BlobSlice = { readonly blob: string; readonly offset: number; readonly sizeBytes: number };

/** The folder of blobs. Blob ids are random hex. */
export type BlobFolder = {
  /** Writes a stream to a new blob that is not permanent yet. On failure nothing is left. */
  readonly write: (source: AsyncIterable<Buffer>) => Promise<string>;
  /** Makes a written blob permanent; call it right after the index records the blob. */
  readonly keep: (blob: string) => void;
  /** Deletes a blob that was written but not kept. */
  readonly discard: (blob: string) => Promise<void>;
  /** Streams slices in sequence. Throws when a file is shorter than the index says. */
  readonly read: (slices: readonly BlobSlice[]) => AsyncGenerator<Buffer>;
  /** Protects blobs from deletion until the returned function is called. */
  readonly hold: (blobs: readonly string[]) => () => void;
  /** Deletes blobs, those in use once their readers finish. Resolves with the blobs deleted by then. */
  readonly remove: (blobs: readonly string[]) => Promise<readonly string[]>;
  /** Repairs the folder after a crash: moves used incoming blobs to their place, deletes unused ones. */
  readonly recover: (isUsed: (blob: string) => "used" | "unused") => Promise<void>;
};

const READ_BYTES = 1024 * 1024;
const WRITE_BUFFER_BYTES = 4 * 1024 * 1024;

/** Opens the folder, creating its subfolders. */
export async function openBlobs(folder: string, durability: Durability): Promise<BlobFolder> {
  const incoming = join(folder, "incoming");
  const kept = join(folder, "blobs");
  await mkdir(incoming, { recursive: true });
  await mkdir(kept, { recursive: true });
  for (let shard = 0; shard < 256; shard++) {
    await mkdir(join(kept, shard.toString(16).padStart(2, "0")), { recursive: true });
  }
  const pathOf = (blob: string): string => join(kept, blob.slice(0, 2), blob);
  const readers = new Map<string, number>();
  const condemned = new Set<string>();

  const hold = (blobs: readonly string[]): (() => void) => {
    for (const blob of blobs) readers.set(blob, (readers.get(blob) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const free: string[] = [];
      for (const blob of blobs) {
        const left = (readers.get(blob) ?? 1) - 1;
        if (left > 0) readers.set(blob, left);
        else readers.delete(blob);
        if (left === 0 && condemned.delete(blob)) free.push(blob);
      }
      void unlinkAll(free);
    };
  };

  const unlinkAll = async (blobs: readonly string[]): Promise<void> => {
    for (const blob of blobs) await rm(pathOf(blob), { force: true });
  };

  async function* read(slices: readonly BlobSlice[]): AsyncGenerator<Buffer> {
    for (const slice of slices) {
      if (slice.sizeBytes === 0) continue;
      const file = await open(pathOf(slice.blob), "r");
      try {
        let leftBytes = slice.sizeBytes;
        while (leftBytes > 0) {
          const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, leftBytes));
          const position = slice.offset + slice.sizeBytes - leftBytes;
          const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
          if (bytesRead === 0) throw new Error(`blob ${slice.blob} is shorter than the index says`);
          leftBytes -= bytesRead;
          yield buffer.subarray(0, bytesRead);
        }
      } finally {
        await file.close();
      }
    }
  }

  return {
    async write(source) {
      const blob = randomBytes(16).toString("hex");
      const path = join(incoming, blob);
      const flush = durability === "power-cut";
      // Opened here, because a write stream that opens the file itself may create it after a failure has removed it.
      const file = await open(path, "wx");
      try {
        await pipeline(source, file.createWriteStream({ highWaterMark: WRITE_BUFFER_BYTES, flush }));
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
      return blob;
    },
    keep: (blob) => renameSync(join(incoming, blob), pathOf(blob)),
    discard: (blob) => rm(join(incoming, blob), { force: true }),
    read,
    hold,
    async remove(blobs) {
      const free = blobs.filter((blob) => !readers.has(blob));
      for (const blob of blobs) if (readers.has(blob)) condemned.add(blob);
      await unlinkAll(free);
      return free;
    },
    async recover(isUsed) {
      for (const blob of await readdir(incoming)) {
        if (isUsed(blob) === "used") renameSync(join(incoming, blob), pathOf(blob));
        else await rm(join(incoming, blob), { force: true });
      }
    },
  };
}
