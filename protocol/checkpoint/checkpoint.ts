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
import { lineBranch } from "./line-branch.ts";
import { MOST_PACKED_FILE_BYTES } from "./packing.ts";
import { MOST_GROUP_NODES, pieceOf } from "./pieces.ts";
import { checkpointPlace } from "./place.ts";
import { isSealedLength, plainBytesOf, sealedTransform, SEGMENT_BYTES } from "./sealing.ts";

/**
 * Checkpoints and their manifests. A manifest is one immutable JSON object, written last, by the hub, under a key that is
 * never signed for a node. It lists the place and checksum of every byte of every file, so that a restore needs and trusts
 * nothing else. Fields for later features (several homes, packing, encryption) exist from version 1 on, so that no manifest
 * ever has to be rewritten.
 */

/**
 * `complete`: the manifest was written and read back, and its digest recorded. `joined`: the piece is part of another
 * checkpoint, whose manifest names its objects.
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
 * Role of a set of files that is not a checkpoint to continue from. `final-model`: weights without an optimizer that a
 * program left in its output folder itself (`trainer.save_model()`). They are kept and restored like a checkpoint, but are
 * never the newest one of the run.
 */
export const checkpointRole = z.enum(["final-model"]);
export type CheckpointRole = z.infer<typeof checkpointRole>;

/**
 * Why a checkpoint may be incomplete: `trainer_state.json is missing`. Such a *doubtful* checkpoint is kept safe, but no run
 * continues from it unless a person chooses it.
 */
export const doubt = z.string().min(1).max(500);

/** CRC32 (ISO-HDLC, as zlib) as eight lower-case hex digits. */
export const crc32Hex = z.string().regex(/^[0-9a-f]{8}$/);
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/);
export const etag = addressText(256).min(1);

/** A range of a file: `length` bytes at `offset` of object `key`. The extents in order form the file. */
export const extent = z.object({
  key: addressText(1024).min(1),
  offset: byteCount,
  length: byteCount.min(1),
  crc32: crc32Hex,
  etag,
  /**
   * Length and CRC32 of a zstd frame that the object holds in place of the file's bytes. `length` and `crc32` above still
   * describe the file's bytes. Under transform `sealed` it describes the encrypted bytes, and `crc32` above is that same
   * sum. The sums of the file's own bytes are then inside the sealed part.
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

/** A piece of one node in the checkpoint that was joined from it. */
const joinedPiece = z.object({
  rank: z.number().int().min(0).max(MOST_GROUP_NODES),
  node: z.object({ id, name: nodeName }),
  checkpointId: id,
  attempt: attemptId,
  /** Files whose names another node also uses, with other content. A restore gives this node its own version. */
  own: z.array(manifestFile).max(50_000).optional(),
});
export type JoinedPiece = z.infer<typeof joinedPiece>;
const joined = z.object({
  of: z.number().int().min(2).max(MOST_GROUP_NODES),
  pieces: z.array(joinedPiece).min(1).max(MOST_GROUP_NODES),
});

/** A bucket that holds the objects. `prefix` repeats the beginning of the keys, for people and for rebuilding the database. */
export const home = z.object({ profileId: id, bucket: addressText(255).min(1), prefix: addressText(512) });

export const MAX_FILES = 50_000;

/** Returns why a file cannot be compressed as claimed, or null. A compressed file is one zstd frame, unpacked in memory. */
function whyNoFrame({ sizeBytes, extents }: ManifestFile, transform: string): string | null {
  if (transform !== "zstd") return "the manifest does not speak of it";
  if (extents.length !== 1) return "it lies in several pieces";
  if (sizeBytes > MOST_PACKED_FILE_BYTES) return `it has more than ${MOST_PACKED_FILE_BYTES} bytes`;
  return (extents[0]?.stored?.length ?? 0) < sizeBytes ? null : "it would not be smaller";
}

/**
 * Returns why a file cannot be encrypted as claimed, or null. Extents hold whole segments, and only the last one of a file
 * may be shorter. A file that was compressed before encryption has one extent.
 */
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

/** Returns why a file cannot be stored as the manifest says, or null. */
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
    /** Checkpoint from which this epoch started; null when the run started fresh. */
    parent: z.object({ epoch: anyEpoch, step }).nullable(),
    /** Branch of its epoch; present in a new line of training. */
    branch: lineBranch.optional(),
    attempt: attemptId,
    node: z.object({ id, name: nodeName }),
    framework: z.string().max(64).nullable(),
    /** Absent for a checkpoint. */
    role: checkpointRole.optional(),
    /** Absent when the checkpoint is whole as far as its own files tell. */
    doubt: doubt.optional(),
    /** Present in the piece of one node. A piece always has a doubt. */
    piece: pieceOf.optional(),
    /** The pieces from which the checkpoint was joined. */
    joined: joined.optional(),
    /** Path in the watched folder. Absent when unknown, and sealed when names are hidden. */
    place: checkpointPlace.optional(),
    /** Modes of files, and empty folders. Absent in manifests of older workers, and sealed when names are hidden. */
    attributes: fileAttributes.optional(),
    metrics: recordOf(z.string().max(200), metricValue, MOST_METRICS),
    /** Time at which the program finished writing it, by the node's clock. */
    capturedAt: instant,
    sizeBytes: byteCount,
    homes: z.array(home).min(1).max(8),
    /** How file bytes are stored. `none`: unchanged. `zstd`: extents with `stored` are zstd frames. `sealed`: encrypted. */
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

/** Checks what must hold across the files of a manifest. A function declaration, because manifests above use it. */
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

/** Claim of a writer epoch: the node that may write from now on, and where it starts. Immutable, written with If-None-Match. */
export const epochClaim = z.object({
  format: z.literal("tidemark.epoch"),
  version: z.literal(1),
  run: runName,
  epoch: writerEpoch,
  parent: z.object({ epoch: anyEpoch, step }).nullable(),
  node: z.object({ id, name: nodeName }),
  /** Number of nodes that write this epoch together; absent: one. */
  groupOf: z.number().int().min(2).max(MOST_GROUP_NODES).optional(),
  claimedAt: z.number().int(),
  /** A person chose the parent: newer checkpoints were abandoned. */
  isChosen: z.literal(true).optional(),
  /** Present when the program began a new line of training. */
  branch: lineBranch.optional(),
});
export type EpochClaim = z.infer<typeof epochClaim>;

/**
 * The order in which the final model of a run is looked for, by hubs and by nodes without one: the newest of the first kind
 * that the run has. Damaged bytes cannot be restored, while a doubtful checkpoint may yet be whole.
 */
export const KINDS_BY_TRUST = [
  { isDamaged: false, isDoubtful: false },
  { isDamaged: false, isDoubtful: true },
  { isDamaged: true, isDoubtful: false },
  { isDamaged: true, isDoubtful: true },
] as const;

/** Compares by writer epoch, then by step: sorts newest first. */
export const byNewest = (a: { writerEpoch: number; step: number }, b: { writerEpoch: number; step: number }): number =>
  b.writerEpoch - a.writerEpoch || b.step - a.step;
