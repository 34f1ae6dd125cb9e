import * as z from "zod";
import { addressText, byteCount } from "../base/bounded.ts";
import { id, writerEpoch } from "../base/names.ts";
import { OWN_FOLDERS } from "../checkpoint/keys.ts";
import { attemptNumber } from "./node-jobs.ts";

/**
 * Output of the programs of jobs. The bucket keeps parts of each attempt, each one object of text packed by zlib. A part is
 * named by the bytes of the whole output before it and by its own bytes, so the gaps between parts are known. A part may be
 * replaced by a longer one that begins at the same byte; the hub deletes the shorter one.
 *
 *   {prefix}_tidemark/job-logs/{run}/{jobId}/{attempt}/{from}-{bytes}.z
 */

/** Most bytes of text in one part. */
export const MOST_LOG_PART_BYTES = 256 * 1024;
/** Bound on a packed part: text that cannot be packed grows by a little. */
export const MOST_PACKED_LOG_BYTES = MOST_LOG_PART_BYTES + 1_024;

export interface LogPartAt {
  run: string;
  jobId: string;
  attempt: number;
  /** Bytes of the output before this part. */
  fromByte: number;
  bytes: number;
}

/** Folder of all logs of jobs. */
const JOB_LOGS = `${OWN_FOLDERS.own}job-logs/`;

/** Returns the key of one part. Listings of checkpoints, of files of other tools and of leftovers do not enter its folder. */
export const logPartKey = (prefix: string, { run, jobId, attempt, fromByte, bytes }: LogPartAt): string =>
  `${prefix}${JOB_LOGS}${run}/${jobId}/${attempt}/${String(fromByte).padStart(15, "0")}-${bytes}.z`;

/** `node.keepLogPart`: records a part that the node has put into the bucket. Repeating it is harmless. */
export const keepLogPartInput = z.object({
  jobId: id,
  attempt: attemptNumber,
  epoch: writerEpoch,
  /** Bytes of output so far, kept or not. */
  totalBytes: byteCount,
  fromByte: byteCount,
  bytes: z.number().int().min(1).max(MOST_LOG_PART_BYTES),
  packedBytes: z.number().int().min(1).max(MOST_PACKED_LOG_BYTES),
});

export const readLogInput = z.object({
  id,
  /** Default: the last attempt. */
  attempt: attemptNumber.optional(),
  /** Byte of the output to begin at; absent: the end, with as much before it as one answer holds. */
  fromByte: byteCount.optional(),
});

export const findInLogInput = z.object({
  id,
  attempt: attemptNumber.optional(),
  /** Text that a line has; case does not count. */
  words: addressText(256).min(1),
});

/** Most bytes of text in one answer, but for the rest of its last part. */
export const LOG_ANSWER_BYTES = 512 * 1024;

/** Text of an output without gaps. */
export interface LogPiece {
  fromByte: number;
  text: string;
}

export interface LogAnswer {
  attempt: number;
  /** In order. Between two of them, and before the first, bytes are missing where the numbers say so. */
  pieces: LogPiece[];
  /** Where the next question begins, and bytes of output so far, as far as the hub knows. */
  nextByte: number;
  totalBytes: number;
  /** Bytes that the bucket keeps of this attempt. */
  keptBytes: number;
  /** First byte that can be read; null when there is none. */
  firstByte: number | null;
  /** The attempt runs, so more may come. */
  isRunning: boolean;
  /** Sentence without its end about why nothing is kept; null when the bucket keeps the output. */
  whyNotKept: string | null;
}

export interface FoundLine {
  /** Byte of the output at which the line begins. */
  fromByte: number;
  text: string;
}

export interface FoundInLog {
  attempt: number;
  /** The first ones, `MOST_FOUND` at most. */
  lines: FoundLine[];
  hasMore: boolean;
}
export const MOST_FOUND = 200;
