import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import * as z from "zod";
import { crc32Hex } from "#protocol/checkpoint/checkpoint.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { removeOwned } from "#worker/base/disk/change-disk.ts";
import { openOwn } from "#worker/base/disk/open-own.ts";
import { diskFault } from "#worker/base/disk-fault.ts";
import type { Engine } from "../engine.ts";
import { openJournal } from "#worker/base/journal.ts";
import { checksumSlice } from "../upload/read-part.ts";
import { receivePieces } from "./receive.ts";
import type { ReceiveJob } from "./receive-job.ts";
import type { Piece } from "./piece.ts";
import { reserve } from "./reserve.ts";
import type { KnownSpan } from "./span.ts";
import { sumToHex } from "#storage/checksums/combine-crc32.ts";

/**
 * One file to fill from its pieces. Pieces that an earlier process received are read back and verified before they count:
 * after a power loss the journal may know more than the disk.
 */
export interface FileToReceive {
  /** Path to write to: a temporary name, never the final one. */
  path: string;
  sizeBytes: number;
  pieces: readonly Piece[];
}

export type ReceiveWatch = Pick<ReceiveJob, "signal" | "patience" | "early" | "onMoved" | "onPiece" | "onRetry">;

/** Fills a file and makes it durable. Returns the CRC32 of each piece, in order. Faults: as `receivePieces`. */
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
    const known = new Map<Piece, KnownSpan[]>();
    for (const piece of file.pieces) {
      const sum = await verifiedSum(handle, { file, piece, remembered: memory.sumOf(file.path, piece) });
      if (sum === null) {
        missing.push(piece);
        const spans = await verifiedSpans(handle, { file, piece, remembered: memory.spansOf(file.path, piece) });
        if (spans.length > 0) known.set(piece, spans);
      } else {
        sums.set(piece, sum);
        watch.onPiece(piece, "kept");
      }
    }
    await receivePieces(engine, {
      fd: handle.fd,
      path: file.path,
      pieces: missing,
      known,
      ...watch,
      onPartly: (piece, span) => memory.partly(file.path, piece, span),
      onWrong: (piece) => memory.forget(file.path, piece),
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
    const handle = await openOwn(file.path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW);
    const stats = await handle.stat();
    if (!stats.isFile())
      throw new Fault("WRITE_FAILED", { op: "write", subject: file.path, detail: "it is not a plain file" });
    if (stats.size !== file.sizeBytes) await reserve(handle, file);
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

/** Returns the remembered spans that are unchanged on the disk; together less than the whole piece. */
async function verifiedSpans(
  handle: FileHandle,
  about: { file: FileToReceive; piece: Piece; remembered: readonly KnownSpan[] },
): Promise<KnownSpan[]> {
  const { file, piece, remembered } = about;
  const kept: KnownSpan[] = [];
  let end = 0;
  for (const span of remembered.toSorted((a, b) => a.from - b.from)) {
    const { from, length, crc } = span;
    if (from < end || from + length > piece.length || length === piece.length) continue;
    const sum = await checksumSlice({ fd: handle.fd, path: file.path, offset: piece.fileOffset + from, length });
    if (Number.parseInt(sum, 16) !== crc) continue;
    kept.push(span);
    end = from + length;
  }
  // If the spans cover a piece without a valid sum, any of them may be wrong: none is kept.
  return kept.reduce((sum, { length }) => sum + length, 0) < piece.length ? kept : [];
}

export interface ReceiveMemory {
  sumOf(path: string, piece: Piece): string | null;
  /** Whether nothing was begun before. */
  readonly isEmpty: boolean;
  /** Returns the spans received of a piece that was begun. */
  spansOf(path: string, piece: Piece): readonly KnownSpan[];
  done(path: string, piece: Piece, crc32: string): Promise<void>;
  partly(path: string, piece: Piece, span: KnownSpan): Promise<void>;
  forget(path: string, piece: Piece): Promise<void>;
  close(): Promise<void>;
  remove(): Promise<void>;
}

const record = z.object({
  path: z.string(),
  key: z.string(),
  etag: z.string().nullable(),
  at: z.number(),
  length: z.number(),
  /** Null: earlier records of the piece are void. */
  crc32: crc32Hex.nullable(),
  /** Set when only this part of the piece was received; `from`: offset in the piece. */
  part: z.object({ from: z.number(), length: z.number() }).optional(),
});

const nameOf = (path: string, piece: Piece): string =>
  JSON.stringify([path, piece.key, piece.etag, piece.fileOffset, piece.length]);

/**
 * Opens the journal of received pieces. Records are bound to ETags, so pieces of another version of an object do not count.
 */
export async function openReceiveJournal(journalPath: string): Promise<ReceiveMemory> {
  const journal = await openJournal(journalPath, record);
  const sums = new Map<string, string>();
  const spans = new Map<string, KnownSpan[]>();
  const apply = ({ path, at, crc32, part, key, etag, length }: z.infer<typeof record>) => {
    const name = JSON.stringify([path, key, etag, at, length]);
    if (crc32 === null) {
      sums.delete(name);
      spans.delete(name);
    } else if (part === undefined) {
      sums.set(name, crc32);
      spans.delete(name);
    } else spans.set(name, [...(spans.get(name) ?? []), { ...part, crc: Number.parseInt(crc32, 16) }]);
  };
  for (const line of journal.takeRecords()) apply(line);
  const write = async (line: z.infer<typeof record>) => {
    apply(line);
    await journal.append(line);
  };
  const about = (path: string, { key, etag, fileOffset: at, length }: Piece) => ({ path, key, etag, at, length });
  return {
    get isEmpty() {
      return sums.size === 0 && spans.size === 0;
    },
    sumOf: (path, piece) => (sums.size === 0 ? null : (sums.get(nameOf(path, piece)) ?? null)),
    spansOf: (path, piece) => spans.get(nameOf(path, piece)) ?? [],
    done: (path, piece, crc32) => write({ ...about(path, piece), crc32 }),
    partly: (path, piece, { from, length, crc }) =>
      write({ ...about(path, piece), crc32: sumToHex(crc), part: { from, length } }),
    forget: (path, piece) => write({ ...about(path, piece), crc32: null }),
    close: journal.close,
    remove: async () => {
      await journal.close();
      await removeOwned("journal", journalPath);
    },
  };
}
