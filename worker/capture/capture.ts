import * as z from "zod";
import { byteCount } from "#protocol/base/bounded.ts";
import { checkpointRole, crc32Hex, doubt } from "#protocol/checkpoint/checkpoint.ts";
import { fileAttributes } from "#protocol/checkpoint/file-attributes.ts";
import { faultData } from "#protocol/faults/fault-data.ts";
import { attemptId, filePath, id, runName, step, writerEpoch } from "#protocol/base/names.ts";
import { measured } from "#protocol/wire/measured.ts";
import { unopenedLine } from "#protocol/checkpoint/line-branch.ts";
import { pieceOf } from "#protocol/checkpoint/pieces.ts";
import { checkpointPlace } from "#protocol/checkpoint/place.ts";
import { transferState } from "#protocol/wire/transfer.ts";
import { fileIdentity } from "../base/file-identity.ts";

const md5Hex = z.string().regex(/^[0-9a-f]{32}$/);

const capturedFile = z.object({
  path: filePath,
  sizeBytes: byteCount,
  mtimeMs: z.number(),
  /** Path of its bytes: a copy or a hard link under the state folder. */
  at: z.string(),
  identity: fileIdentity,
  partBytes: z.number(),
  /** CRC32 of each part, computed when it was captured. */
  sums: z.array(crc32Hex),
  /** MD5 of each part, for stores that require it. */
  md5s: z.array(md5Hex).optional(),
  /** Number of the pack that holds it, behind the earlier files of that pack. */
  pack: z.number().int().min(1).optional(),
  /** Present when `at` holds a zstd frame of the file: the frame's length and CRC32. */
  frame: z.object({ length: byteCount, crc32: crc32Hex }).optional(),
});
export type CapturedFile = z.infer<typeof capturedFile>;

/** Wait of a capture whose step may get more files. */
const openCapture = z.object({
  /** When the wait is over if nothing happens, epoch ms. */
  until: z.number(),
  /** Whether its name is that of a part (`model`, `optim`), so that other parts are likely. */
  isPart: z.boolean(),
});

/** A checkpoint that this node has secured. It stays in the ledger until its end is in the outbox. */
export const capture = z.object({
  /** Also the id of the checkpoint. */
  id,
  transferId: id,
  attempt: attemptId,
  run: runName,
  step,
  /** Absent for an ordinary checkpoint. */
  role: checkpointRole.optional(),
  /** Why it may be incomplete; absent when it is complete. */
  doubt: doubt.optional(),
  /**
   * Present while nothing shows which files belong to its step: its bytes are sent, and its commit waits. Null: that is settled.
   */
  open: openCapture.nullable().optional(),
  /** Capture of the same step with more files, for which this one is dropped. */
  replacedBy: id.optional(),
  /** This node's piece, when several nodes write the checkpoint. */
  piece: pieceOf.optional(),
  /** Place in the watched folder; absent for a checkpoint outside of it, and in captures of older workers. */
  place: checkpointPlace.optional(),
  /** Modes and empty folders; absent in captures of older workers. */
  attributes: fileAttributes.optional(),
  /** Null until the hub said which epoch this node writes. */
  epoch: writerEpoch.nullable(),
  /** Line of training that it belongs to while the hub could not be asked to open it; the epoch is null until then. */
  newLine: unopenedLine.nullable().optional(),
  framework: z.string().nullable(),
  metrics: z.record(z.string(), z.number()),
  /** When the program finished writing it, epoch ms. */
  capturedAt: z.number(),
  sourcePath: z.string(),
  /** Fingerprint of the source when it was captured; absent in captures of older workers. */
  fingerprint: z.string().optional(),
  folder: z.string(),
  sizeBytes: byteCount,
  files: z.array(capturedFile),
  state: transferState,
  announced: z.boolean(),
  /** Bucket profile of the replica it goes to, when its run has several; null: this node's own bucket. */
  home: id.nullable().optional(),
  /** Higher goes first; of equal ones the older. */
  priority: z.number().default(0),
  startedBy: z.enum(["queue", "start"]),
  startedAt: z.number().nullable(),
  retries: z.number(),
  sentBytes: z.number(),
  /** Measurements of the link by its last attempt. */
  measured: measured.optional(),
  fault: faultData.nullable(),
});
export type Capture = z.infer<typeof capture>;
