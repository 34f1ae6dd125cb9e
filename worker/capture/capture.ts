import * as z from "zod";
import { byteCount } from "#protocol/base/bounded.ts";
import { checkpointRole, crc32Hex, doubt } from "#protocol/checkpoint/checkpoint.ts";
import { fileAttributes } from "#protocol/checkpoint/file-attributes.ts";
import { faultData } from "#protocol/faults/fault-data.ts";
import { attemptId, filePath, id, runName, step, writerEpoch } from "#protocol/base/names.ts";
import { measured } from "#protocol/wire/measured.ts";
import { pieceOf } from "#protocol/checkpoint/pieces.ts";
import { checkpointPlace } from "#protocol/checkpoint/place.ts";
import { transferState } from "#protocol/wire/transfer.ts";
import { fileIdentity } from "../base/file-identity.ts";

const md5Hex = z.string().regex(/^[0-9a-f]{32}$/);

/** A checkpoint that this node has secured and that is on its way to be safe. Lives in the ledger until it is. */
const capturedFile = z.object({
  path: filePath,
  sizeBytes: byteCount,
  mtimeMs: z.number(),
  /** Where its bytes lie: a copy or a hard link under the state folder. */
  at: z.string(),
  identity: fileIdentity,
  partBytes: z.number(),
  /** CRC32 of each part, taken when it was captured. */
  sums: z.array(crc32Hex),
  /** MD5 of each part, where the store wants that. */
  md5s: z.array(md5Hex).optional(),
  /** It lies in the pack of this number, behind those of the same number that come before it. */
  pack: z.number().int().min(1).optional(),
  /** What lies at `at` is not the file but a zstd frame of it: its length and CRC32. */
  frame: z.object({ length: byteCount, crc32: crc32Hex }).optional(),
});
export type CapturedFile = z.infer<typeof capturedFile>;

export const capture = z.object({
  /** Also the id of the checkpoint. */
  id,
  transferId: id,
  attempt: attemptId,
  run: runName,
  step,
  /** Absent of a checkpoint. */
  role: checkpointRole.optional(),
  /** Why it may not be whole; absent of one that is. */
  doubt: doubt.optional(),
  /** The piece of this node of a checkpoint by several. */
  piece: pieceOf.optional(),
  /** Where it lay in the watched folder; absent of what lay elsewhere, and in captures of older workers. */
  place: checkpointPlace.optional(),
  /** Modes and empty folders; absent in captures of older workers. */
  attributes: fileAttributes.optional(),
  /** Null until the hub said which epoch this node writes. */
  epoch: writerEpoch.nullable(),
  framework: z.string().nullable(),
  metrics: z.record(z.string(), z.number()),
  /** When the program finished writing it, epoch ms. */
  capturedAt: z.number(),
  sourcePath: z.string(),
  /** Of the source when it was captured; absent in captures of older workers. */
  fingerprint: z.string().optional(),
  folder: z.string(),
  sizeBytes: byteCount,
  files: z.array(capturedFile),
  state: transferState,
  announced: z.boolean(),
  /** The bucket profile it goes to, where its run has several; null: this node's own. */
  home: id.nullable().optional(),
  /** Higher goes first; of the same, the older one. */
  priority: z.number().default(0),
  startedBy: z.enum(["queue", "start"]),
  startedAt: z.number().nullable(),
  retries: z.number(),
  sentBytes: z.number(),
  /** What its last try found out about the link. */
  measured: measured.optional(),
  fault: faultData.nullable(),
});
export type Capture = z.infer<typeof capture>;
