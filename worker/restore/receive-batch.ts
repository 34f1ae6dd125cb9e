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
 * Fetches many small files in one range into memory, verifies each by its own checksum, then writes it. No journal is needed:
 * after a kill each written file is recognized by its checksum.
 */
export interface BatchWatch extends Pick<ReceiveJob, "signal" | "patience" | "onMoved" | "onRetry"> {
  onMember(member: BatchMember, state: PartState): void;
  /** Called with the files that cannot be had, before the fault is thrown. */
  onFailed(members: readonly BatchMember[], error: unknown): void;
}

export interface BatchFile {
  file: StoredFile;
  /** Temporary path, in a folder that exists. */
  place: string;
  /** Key of an encrypted file. */
  fileKey?: Buffer;
}

const MOST_AT_A_TIME = 16;
const SIGNED_AT_A_TIME = 64;
const LANES_AT_THE_END = 2;
/** The same limit as for pieces of large files. */
const MOST_MISMATCHES = 2;

/**
 * Receives all batches, as many at a time as fit in half of the engine's memory. The files are not durable yet.
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
    // While batches are left, no connection is idle that could take over from a slow one.
    const mostLanes = batches.length - index > width ? 1 : LANES_AT_THE_END;
    await receiveBatch(engine, batch, { ...about, mostLanes, bytes: memory.subarray(0, batch.length) });
    signed.done(piece);
    if (memory.length === PACK_READ_BYTES) spare.push(memory);
  });
}

const makeSpare = (): Buffer => Buffer.allocUnsafeSlow(PACK_READ_BYTES);

/**
 * Returns the range as one piece in memory. It has no checksum: each file has its own, and one of the whole range would not
 * show which file is wrong.
 */
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
  /** As long as the range. */
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

/** Collects the files whose bytes were wrong at the last attempt. */
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
  // Bytes between the files do not count as moved.
  const wanted = batch.members.reduce((sum, { extent }) => sum + storedBytes(extent).length, 0);
  watch.onMoved(wanted - batch.length);
  say("done");
}

/** Verifies each file and writes it. Waits while the disk is full, as for large files. */
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
