import * as z from "zod";
import { addressText, byteCount, instant, metricValue, MOST_ISSUES, MOST_METRICS, recordOf } from "../base/bounded.ts";
import { fileAttributes } from "./file-attributes.ts";
import {
  anyEpoch,
  attemptId,
  filePath,
  findCollision,
  id,
  nodeName,
  runName,
  step,
  writerEpoch,
} from "../base/names.ts";
import { MOST_PACKED_FILE_BYTES } from "./packing.ts";
import { MOST_GROUP_NODES, pieceOf } from "./pieces.ts";
import { checkpointPlace } from "./place.ts";
import { isSealedLength, plainBytesOf, sealedTransform, SEGMENT_BYTES } from "./sealing.ts";

/**
 * What a checkpoint is. Its manifest is one immutable JSON object per checkpoint, written last, by the hub, under a key
 * no node can be signed for. It says where every byte of every file lies and what its checksum is, so that a restore
 * needs nothing else and trusts nothing else. Fields that later versions fill (several homes, packing, encryption) exist
 * from version 1 on, so that no manifest ever has to be rewritten.
 */

/**
 * `complete` only when the manifest was written, read back, and its digest recorded. `joined`: it is a piece of another
 * checkpoint, which names its objects.
 */
export const CHECKPOINT_STATES = ["uploading", "complete", "torn", "superseded", "trashed", "joined"] as const;
export const checkpointState = z.enum(CHECKPOINT_STATES);
export type CheckpointState = z.infer<typeof checkpointState>;

export const CHECKPOINT_MOVES: Readonly<Record<CheckpointState, readonly CheckpointState[]>> = {
  uploading: ["complete", "torn", "superseded"],
  torn: ["uploading", "complete", "trashed"],
  complete: ["trashed", "joined"],
  superseded: ["trashed"],
  trashed: ["complete"],
  joined: [],
};

export const mayBecome = (from: CheckpointState, to: CheckpointState): boolean => CHECKPOINT_MOVES[from].includes(to);

/**
 * Names a set of files that is no checkpoint to go on from. `final-model`: the weights that a program left in its output
 * folder itself (`trainer.save_model()`), without an optimizer. It is kept and restored like a checkpoint, and is never the
 * newest one of its run.
 */
export const checkpointRole = z.enum(["final-model"]);
export type CheckpointRole = z.infer<typeof checkpointRole>;

/**
 * Why a checkpoint may not be whole: `trainer_state.json is missing`. Such a one is kept safe as *doubtful*: nothing goes on from
 * it by itself, and a person may choose it.
 */
export const doubt = z.string().min(1).max(500);

/** CRC32 (ISO-HDLC, as zlib) as eight lower-case hex digits. */
export const crc32Hex = z.string().regex(/^[0-9a-f]{8}$/);
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);
export const etag = addressText(256).min(1);

/** A run of bytes of a file: `length` bytes at `offset` of object `key`. The extents of a file, in order, are the file. */
export const extent = z.object({
  key: addressText(1024).min(1),
  offset: byteCount,
  length: byteCount.min(1),
  crc32: crc32Hex,
  etag,
  /**
   * Where the object holds a zstd frame in place of the bytes themselves: the frame's length and CRC32. `length` and `crc32`
   * are those of the file's bytes all the same. Under transform `sealed` it is what lies there encrypted, and `crc32` is
   * that of the stored bytes too: the sums of the file's own bytes are inside the sealed part.
   */
  stored: z.object({ length: byteCount.min(1), crc32: crc32Hex }).optional(),
});
export type Extent = z.infer<typeof extent>;

export const manifestFile = z.object({
  path: filePath,
  sizeBytes: byteCount,
  mtimeMs: z.number().min(0).max(8_640_000_000_000_000),
  sha256: sha256Hex.nullable(),
  extents: z.array(extent).max(10_000),
});
export type ManifestFile = z.infer<typeof manifestFile>;

/** A piece in the checkpoint that it was joined into. */
const joinedPiece = z.object({
  rank: z.number().int().min(0).max(MOST_GROUP_NODES),
  node: z.object({ id, name: nodeName }),
  checkpointId: id,
  attempt: attemptId,
  /** Files of this node under names that another node has with other content: a restore gives this node its own. */
  own: z.array(manifestFile).max(50_000).optional(),
});
export type JoinedPiece = z.infer<typeof joinedPiece>;
const joined = z.object({
  of: z.number().int().min(2).max(MOST_GROUP_NODES),
  pieces: z.array(joinedPiece).min(1).max(MOST_GROUP_NODES),
});

/** A place where the objects lie. `prefix` is what the keys already start with, repeated for people and for rebuilds. */
export const home = z.object({ profileId: id, bucket: addressText(255).min(1), prefix: addressText(512) });

export const MAX_FILES = 50_000;

/** A compressed file is one frame, so that one read gives all of it; it is unpacked in memory. */
function whyNoFrame({ sizeBytes, extents }: ManifestFile, transform: string): string | null {
  if (transform !== "zstd") return "the manifest does not speak of it";
  if (extents.length !== 1) return "it lies in several pieces";
  if (sizeBytes > MOST_PACKED_FILE_BYTES) return `it has more than ${MOST_PACKED_FILE_BYTES} bytes`;
  return (extents[0]?.stored?.length ?? 0) < sizeBytes ? null : "it would not be smaller";
}

/** Whole segments, of which only the last of a file is shorter; or all of a file that was compressed before it was sealed. */
function whyNotSealed({ sizeBytes, extents }: ManifestFile, zstd: boolean): string | null {
  for (const [index, { length, stored }] of extents.entries()) {
    if (stored === undefined) return "a piece of it is not encrypted";
    if (!isSealedLength(stored.length)) return "a piece of it has no whole segments";
    const isLast = index === extents.length - 1;
    if (!isLast && stored.length % SEGMENT_BYTES !== 0) return "a piece of it ends inside of a segment";
    const inner = plainBytesOf(stored.length);
    const isFrame = zstd && extents.length === 1 && inner < length && sizeBytes <= MOST_PACKED_FILE_BYTES;
    if (inner !== length && !isFrame) return `its segments hold ${inner} of ${length} bytes`;
  }
  return null;
}

/** Why a file cannot lie in the bucket as the manifest says, or null. */
function whyPackedWrong(
  file: ManifestFile,
  transform: { kind: string } | z.infer<typeof sealedTransform>,
): string | null {
  if ("zstd" in transform) {
    const why = whyNotSealed(file, transform.zstd);
    return why === null ? null : `${file.path} is not sealed right: ${why}`;
  }
  if (file.extents.every(({ stored }) => stored === undefined)) return null;
  const why = whyNoFrame(file, transform.kind);
  return why === null ? null : `${file.path} cannot be compressed: ${why}`;
}

export const manifest = z
  .object({
    format: z.literal("tidemark.checkpoint"),
    version: z.literal(1),
    id,
    run: runName,
    step,
    writerEpoch,
    /** Where this epoch started from; null when the run started fresh. */
    parent: z.object({ epoch: anyEpoch, step }).nullable(),
    attempt: attemptId,
    node: z.object({ id, name: nodeName }),
    framework: z.string().max(64).nullable(),
    /** Absent of a checkpoint. */
    role: checkpointRole.optional(),
    /** Absent of one that is whole as far as its own files tell. */
    doubt: doubt.optional(),
    /** It is the piece of one node. Such a one has a doubt. */
    piece: pieceOf.optional(),
    /** The pieces that it was joined from. */
    joined: joined.optional(),
    /** Where it lay in the watched folder. Absent where that is not known; where names are hidden it is sealed. */
    place: checkpointPlace.optional(),
    /** Modes of files, and empty folders. Absent in manifests of older workers; where names are hidden it is sealed. */
    attributes: fileAttributes.optional(),
    metrics: recordOf(z.string().max(200), metricValue, MOST_METRICS),
    /** When the program finished writing it, by the node's clock. */
    capturedAt: instant,
    sizeBytes: byteCount,
    homes: z.array(home).min(1).max(8),
    /** How file bytes became object bytes. `none`: as they are. `zstd`: extents with `stored` are frames of that format. `sealed`: encrypted. */
    transform: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("none") }),
      z.object({ kind: z.literal("zstd") }),
      sealedTransform,
    ]),
    files: z.array(manifestFile).min(1).max(MAX_FILES),
  })
  .superRefine((value, context) => {
    checkFiles(value, context);
    const wrong = value.files
      .values()
      .map((file) => whyPackedWrong(file, value.transform))
      .filter((message) => message !== null)
      .take(MOST_ISSUES);
    for (const message of wrong) context.addIssue({ code: "custom", message });
  });
export type Manifest = z.infer<typeof manifest>;
export const commitInput = z.object({ manifest });

interface FilesTogether {
  sizeBytes: number;
  files: readonly { path: string; sizeBytes: number; extents: readonly { length: number }[] }[];
}

/** What must be true of the files of a manifest together. Hoisted, because manifests above and elsewhere refer to it. */
export function checkFiles(value: FilesTogether, context: z.RefinementCtx): void {
  let complaints = 0;
  const complain = (message: string) => {
    if (complaints++ < MOST_ISSUES) context.addIssue({ code: "custom", message });
  };
  let total = 0;
  for (const file of value.files) {
    total += file.sizeBytes;
    const covered = file.extents.reduce((sum, piece) => sum + piece.length, 0);
    if (covered !== file.sizeBytes) complain(`the extents of ${file.path} cover ${covered} of ${file.sizeBytes} bytes`);
  }
  if (total !== value.sizeBytes) complain(`the files add up to ${total}, not ${value.sizeBytes} bytes`);
  const collision = findCollision(value.files.map((file) => file.path));
  if (collision !== null) complain(`${collision[0]} and ${collision[1]} would land on the same file`);
}

/** The claim object of an epoch: who may write from now on, and where it starts. Immutable, written with if-none-match. */
export const epochClaim = z.object({
  format: z.literal("tidemark.epoch"),
  version: z.literal(1),
  run: runName,
  epoch: writerEpoch,
  parent: z.object({ epoch: anyEpoch, step }).nullable(),
  node: z.object({ id, name: nodeName }),
  /** How many nodes write this epoch together; absent: one. */
  groupOf: z.number().int().min(2).max(MOST_GROUP_NODES).optional(),
  claimedAt: z.number().int(),
  /** A person chose the parent: what is newer than it was abandoned. */
  isChosen: z.literal(true).optional(),
});
export type EpochClaim = z.infer<typeof epochClaim>;

/** Newest = highest writer epoch, then highest step. Sorts newest first. */
export const byNewest = (a: { writerEpoch: number; step: number }, b: { writerEpoch: number; step: number }): number =>
  b.writerEpoch - a.writerEpoch || b.step - a.step;
