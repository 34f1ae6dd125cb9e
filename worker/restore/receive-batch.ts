import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import { PACK_READ_BYTES, storedBytes } from "#protocol/checkpoint/packing.ts";
import { isFault } from "#protocol/faults/fault.ts";
import { unseal } from "#storage/encryption/unseal.ts";
import { forEachOf } from "#protocol/base/for-each-of.ts";
import { unframe } from "#storage/encryption/unframe.ts";
import type { Engine } from "../transfer/engine.ts";
import { receivePieces } from "../transfer/download/receive.ts";
import type { ReceiveJob } from "../transfer/download/receive-job.ts";
import type { Piece } from "../transfer/download/piece.ts";
import { waitForRoom } from "../transfer/download/reserve.ts";
import { signAhead } from "../transfer/store-session/sign-ahead.ts";
import type { PartState } from "../transfer/progress/transfer-progress.ts";
import type { Batch, BatchMember } from "./plan-batches.ts";
import { writeSmall } from "./placement/write-small.ts";

/**
 * Many small files in one range: fetched into memory, each held to its own sum, then written. What was written before a kill
 * shows by itself, because every file says whether it is right, so nothing of this is in a journal.
 */
export interface BatchWatch extends Pick<ReceiveJob, "signal" | "patience" | "onMoved" | "onRetry"> {
  onMember(member: BatchMember, state: PartState): void;
  /** These cannot be had: said before the fault is thrown. */
  onFailed(members: readonly BatchMember[], error: unknown): void;
}

export interface BatchFile {
  file: StoredFile;
  /** A temporary place, whose folder is there. */
  place: string;
  /** Of an encrypted one. */
  fileKey?: Buffer;
}

const MOST_AT_A_TIME = 16;
const SIGNED_AT_A_TIME = 64;
const LANES_AT_THE_END = 2;
/** As for pieces of large files. */
const MOST_MISMATCHES = 2;

/**
 * All batches, so many at a time as half of the engine's memory holds. The files are not durable yet.
 * Faults: as `receivePieces`.
 */
export async function receiveBatches(
  engine: Engine,
  batches: readonly Batch[],
  about: { files: readonly BatchFile[]; watch: BatchWatch },
): Promise<void> {
  const width = Math.max(1, Math.min(MOST_AT_A_TIME, Math.floor(engine.memoryBytes / 2 / PACK_READ_BYTES)));
  const pieces = batches.map(pieceOf);
  const signed = signAhead(engine, pieces, SIGNED_AT_A_TIME);
  const spare: Buffer[] = [];
  await forEachOf([...batches.entries()], width, async ([index, batch]) => {
    const piece = pieces[index] ?? pieceOf(batch);
    await signed.of(piece);
    const memory = batch.length > PACK_READ_BYTES ? Buffer.allocUnsafeSlow(batch.length) : (spare.pop() ?? makeSpare());
    // While there are others, nobody is idle who could take over from a slow connection.
    const mostLanes = batches.length - index > width ? 1 : LANES_AT_THE_END;
    await receiveBatch(engine, batch, { ...about, mostLanes, bytes: memory.subarray(0, batch.length) });
    signed.done(piece);
    if (memory.length === PACK_READ_BYTES) spare.push(memory);
  });
}

const makeSpare = (): Buffer => Buffer.allocUnsafeSlow(PACK_READ_BYTES);

/** The range as one piece of a file in memory. A sum of all of it would only say that one of its files is wrong. */
export const pieceOf = ({ key, etag, offset, length }: Batch): Piece => ({
  key,
  etag,
  objectOffset: offset,
  fileOffset: 0,
  length,
  crc32: null,
});

interface Placing {
  files: readonly BatchFile[];
  watch: BatchWatch;
  mostLanes: number;
  /** As many as the range has. */
  bytes: Buffer;
}

async function receiveBatch(engine: Engine, batch: Batch, about: Placing): Promise<void> {
  let wrong: readonly BatchMember[] = [];
  try {
    await fetchBatch(engine, batch, { ...about, onWrong: (members) => (wrong = members) });
  } catch (error) {
    about.watch.onFailed(wrong.length > 0 ? wrong : batch.members, error);
    throw error;
  }
}

/** Of those whose bytes are wrong, the ones that were the last time. */
interface Fetching extends Placing {
  onWrong(members: readonly BatchMember[]): void;
}

async function fetchBatch(engine: Engine, batch: Batch, about: Fetching): Promise<void> {
  const { files, watch, bytes, mostLanes } = about;
  const path = files[batch.members[0]?.index ?? 0]?.place ?? "";
  const say = (state: PartState) => {
    for (const member of batch.members) watch.onMember(member, state);
  };
  for (let mismatches = 0; ; mismatches++) {
    await receivePieces(engine, {
      ...watch,
      fd: bytes,
      path,
      pieces: [pieceOf(batch)],
      mostLanes,
      onPiece: (_piece, state) => say(state),
      onDone: () => Promise.resolve(),
      onPartly: () => Promise.resolve(),
      onWrong: () => Promise.resolve(),
    });
    try {
      await place(engine, { ...about, batch, path });
      break;
    } catch (error) {
      const isWrong = isFault(error) && (error.code === "CHECKSUM_MISMATCH" || error.code === "SEAL_BROKEN");
      if (!isWrong || mismatches >= MOST_MISMATCHES) throw error;
      watch.onMoved(-batch.length);
      watch.onRetry(error);
      say("again");
    }
  }
  // What was fetched for nothing between two files.
  const wanted = batch.members.reduce((sum, { extent }) => sum + storedBytes(extent).length, 0);
  watch.onMoved(wanted - batch.length);
  say("done");
}

/** Looks into each file and writes it. A disk that is full is waited for, as it is for large files. */
async function place(engine: Engine, about: Fetching & { batch: Batch; path: string }): Promise<void> {
  const { files, path, watch, batch, bytes, onWrong } = about;
  const wrong: BatchMember[] = [];
  const small = await Promise.allSettled(
    batch.members.map(async (member) => {
      const { index, extent } = member;
      const { offset, length } = storedBytes(extent);
      const from = offset - batch.offset;
      const { file, place, fileKey } = files[index] ?? {};
      const stored = bytes.subarray(from, from + length);
      return {
        place: place ?? "",
        mtimeMs: file?.mtimeMs ?? 0,
        bytes: await (fileKey === undefined ? unframe(stored, extent) : unseal(stored, extent, fileKey)).catch(
          (error: unknown) => {
            wrong.push(member);
            throw error;
          },
        ),
      };
    }),
  );
  onWrong(wrong);
  const right = small.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
  const { clock, patienceMs, onTrouble } = engine.retrier;
  const { patience, signal } = watch;
  for (;;) {
    try {
      await writeSmall(right);
      return;
    } catch (error) {
      if (!isFault(error) || error.code !== "NO_SPACE") throw error;
      watch.onRetry(error);
      onTrouble?.(error);
      await waitForRoom(error, { path, bytes: batch.length, clock, patience, patienceMs, signal });
    }
  }
}
