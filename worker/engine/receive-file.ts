import { constants } from "node:fs";
import { open, rm, type FileHandle } from "node:fs/promises";
import { z } from "zod";
import { crc32Hex } from "#protocol/checkpoint.ts";
import { Fault } from "#protocol/fault.ts";
import { diskFault } from "./disk-fault.ts";
import type { Engine } from "./engine.ts";
import { openJournal } from "./journal.ts";
import { checksumSlice } from "./read-part.ts";
import { receivePieces, type Piece, type ReceiveJob } from "./receive.ts";

/**
 * Fills one file from its pieces and makes it durable. Pieces that an earlier life of the process had received are read
 * back and summed before they are believed: after a power cut the journal may know more than the disk.
 */
export interface FileToReceive {
  /** Where the bytes go: a temporary name, never the final one. */
  path: string;
  sizeBytes: number;
  pieces: readonly Piece[];
}

export type ReceiveWatch = Pick<ReceiveJob, "signal" | "patience" | "onMoved" | "onPiece" | "onRetry">;

/** Returns the CRC32 of each piece, in order. Faults: as `receivePieces`. */
export async function receiveFile(
  engine: Engine,
  file: FileToReceive,
  rest: { memory: ReceiveMemory; watch: ReceiveWatch },
): Promise<string[]> {
  const { memory, watch } = rest;
  const handle = await openTarget(file);
  try {
    const sums = new Map<Piece, string>();
    const missing: Piece[] = [];
    for (const piece of file.pieces) {
      const sum = await verifiedSum(handle, { file, piece, remembered: memory.sumOf(file.path, piece) });
      if (sum === null) missing.push(piece);
      else {
        sums.set(piece, sum);
        watch.onPiece(piece, "kept");
      }
    }
    await receivePieces(engine, {
      fd: handle.fd,
      path: file.path,
      pieces: missing,
      ...watch,
      onDone: async (piece, crc32) => {
        sums.set(piece, crc32);
        await memory.done(file.path, piece, crc32);
        watch.onPiece(piece, "done");
      },
    });
    await handle.datasync();
    return file.pieces.map((piece) => sums.get(piece) ?? "");
  } catch (error) {
    throw diskFault(error, { op: "write", subject: file.path, otherwise: "WRITE_FAILED" });
  } finally {
    await handle.close();
  }
}

async function openTarget(file: FileToReceive): Promise<FileHandle> {
  try {
    const handle = await open(file.path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o644);
    const stats = await handle.stat();
    if (!stats.isFile())
      throw new Fault("WRITE_FAILED", { op: "write", subject: file.path, detail: "it is not a plain file" });
    if (stats.size !== file.sizeBytes) await handle.truncate(file.sizeBytes);
    return handle;
  } catch (error) {
    throw diskFault(error, { op: "write", subject: file.path, otherwise: "WRITE_FAILED" });
  }
}

async function verifiedSum(
  handle: FileHandle,
  about: { file: FileToReceive; piece: Piece; remembered: string | null },
): Promise<string | null> {
  const { file, piece, remembered } = about;
  if (remembered === null || (piece.crc32 !== null && piece.crc32 !== remembered)) return null;
  const sum = await checksumSlice({ fd: handle.fd, path: file.path, offset: piece.fileOffset, length: piece.length });
  return sum === remembered ? sum : null;
}

export interface ReceiveMemory {
  sumOf(path: string, piece: Piece): string | null;
  done(path: string, piece: Piece, crc32: string): Promise<void>;
  close(): Promise<void>;
  remove(): Promise<void>;
}

const record = z.object({
  path: z.string(),
  key: z.string(),
  etag: z.string().nullable(),
  at: z.number(),
  length: z.number(),
  crc32: crc32Hex,
});

const nameOf = (path: string, piece: Piece): string =>
  JSON.stringify([path, piece.key, piece.etag, piece.fileOffset, piece.length]);

/** The journal of received pieces; bound to ETags, so that pieces of another version of an object do not count. */
export async function openReceiveJournal(journalPath: string): Promise<ReceiveMemory> {
  const journal = await openJournal(journalPath, record);
  const sums = new Map<string, string>();
  for (const { path, at, crc32, ...rest } of journal.records) {
    sums.set(JSON.stringify([path, rest.key, rest.etag, at, rest.length]), crc32);
  }
  return {
    sumOf: (path, piece) => sums.get(nameOf(path, piece)) ?? null,
    done: async (path, piece, crc32) => {
      sums.set(nameOf(path, piece), crc32);
      const { key, etag, fileOffset: at, length } = piece;
      await journal.append({ path, key, etag, at, length, crc32 });
    },
    close: journal.close,
    remove: async () => {
      await journal.close();
      await rm(journalPath, { force: true });
    },
  };
}
