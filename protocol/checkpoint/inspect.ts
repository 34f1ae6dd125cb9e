import * as z from "zod";
import type { FaultData } from "../faults/fault.ts";
import { addressText, byteCount } from "../base/bounded.ts";
import { etag } from "./checkpoint.ts";
import { filePath, id } from "../base/names.ts";

/**
 * Results of inspecting files without executing their content. Names, metadata and text are untrusted. Text for people has
 * control and direction characters made visible (`visible-text.ts`). `name` of a tensor stays unchanged, so that two files
 * can be compared.
 */

export const FILE_FORMATS = [
  "safetensors",
  "safetensors-index",
  "gguf",
  "torch-zip",
  "torch-legacy",
  "torch-tar",
  "torch-dcp",
  "torch-dcp-data",
  "orbax",
  "ocdbt",
  "pickle",
  "npy",
  "npz",
  "zip",
  "trainer-state",
  "config",
  "json",
  "text",
  "binary",
  "empty",
] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** `weights`: the model. `state`: what a restart needs besides (optimizer, schedule, random number generators). */
export type TensorRole = "weights" | "state";

export interface TensorFacts {
  name: string;
  /** Named as in safetensors (F32, BF16, F8_E4M3), quantized types as in GGUF (Q4_K), `OPAQUE` when the type has no name. */
  dtype: string;
  /** Slowest dimension first, whatever order the file uses. */
  shape: number[];
  sizeBytes: number;
  /** Offset of its bytes in the file; null when they lie in another file, in pieces, or at an unknown place. */
  offset: number | null;
  role: TensorRole;
  /** CRC32 of its stored bytes as the file itself records it, eight lower-case hex digits; null when absent. */
  crc32: string | null;
}

export interface DtypeShare {
  dtype: string;
  tensors: number;
  parameters: number;
  sizeBytes: number;
}

/** Tensors grouped by the parts of their names. Children beyond the limit are summed in a child named `…`. */
export interface TensorTree {
  name: string;
  tensors: number;
  parameters: number;
  sizeBytes: number;
  children: TensorTree[];
}

export interface CurvePoint {
  step: number;
  epoch: number | null;
  loss: number | null;
  evalLoss: number | null;
  learningRate: number | null;
  gradNorm: number | null;
}

/** Training history that a Trainer wrote. Thinned evenly to INSPECT_LIMITS.points; the last point always stays. */
export interface LossCurve {
  globalStep: number | null;
  maxSteps: number | null;
  epoch: number | null;
  bestMetric: number | null;
  points: CurvePoint[];
  pointsOmitted: number;
}

export interface MetadataEntry {
  name: string;
  /** Escaped for display and cut to 1,024 characters. */
  value: string;
}

export interface FileInspection {
  path: string;
  format: FileFormat;
  sizeBytes: number;
  /** Bytes and requests that the inspection took. */
  readBytes: number;
  reads: number;
  /** Number of elements of all tensors, and of those with the role `weights`. */
  parameters: number;
  weights: number;
  tensorBytes: number;
  /** In the order of the file. */
  tensors: TensorFacts[];
  /** Tensors that count in the totals but are left out of the list. */
  tensorsOmitted: number;
  dtypes: DtypeShare[];
  tree: TensorTree;
  metadata: MetadataEntry[];
  /** Other files that the file names as belonging to it. */
  names: string[];
  curve: LossCurve | null;
  /** The beginning of a text file, escaped for display. */
  preview: string | null;
  /** Library that seems to have written it. */
  framework: string | null;
  warnings: string[];
  /** Reason why the result is incomplete: the file is damaged, or its content exceeds the limits. */
  fault: FaultData | null;
}

/** A file in the answer for a whole checkpoint; its tensors take a request of their own. */
export type FileSummary = Omit<FileInspection, "tensors" | "tree" | "preview" | "tensorsOmitted"> & { tensors: number };

export interface CheckpointInspection {
  checkpointId: string;
  framework: string | null;
  parameters: number;
  weights: number;
  tensorBytes: number;
  dtypes: DtypeShare[];
  tree: TensorTree;
  curve: LossCurve | null;
  files: FileSummary[];
  /** Files not inspected, because their number or the bytes to read exceed the limits of one answer. */
  filesOmitted: number;
  warnings: string[];
}

export interface TensorChange {
  name: string;
  from: { dtype: string; shape: number[] };
  to: { dtype: string; shape: number[] };
}

export interface Comparison {
  added: TensorFacts[];
  removed: TensorFacts[];
  /** Same name, other shape or dtype. */
  changed: TensorChange[];
  /** Tensors with the same name, shape and dtype: their checksums agree (`same`), differ, or are unknown. */
  same: number;
  differs: string[];
  unknown: number;
  /** Rows left out of the lists above, summed over all lists. */
  omitted: number;
  warnings: string[];
}

const key = addressText(1024).min(1);
export const inspectPlace = z.union([
  z.object({ checkpointId: id, path: filePath }).strict(),
  z.object({ profileId: id, key, etag: etag.nullable().default(null) }).strict(),
]);
export type InspectPlace = z.infer<typeof inspectPlace>;
/** The same as a page sends it, before parsing. */
export type PlaceAsked = z.input<typeof inspectPlace>;

export const inspectFileInput = z.object({ place: inspectPlace, tensors: byteCount.max(20_000).default(5_000) });
export const inspectCheckpointInput = z.object({ checkpointId: id });
export const comparable = z.union([z.object({ checkpointId: id }).strict(), inspectPlace]);
export type Comparable = z.infer<typeof comparable>;
export const compareInput = z.object({ from: comparable, to: comparable });

export interface FileChange {
  path: string;
  fromBytes: number;
  toBytes: number;
  /** Number of parts with different checksums; null when the parts have different boundaries. */
  changedParts: number | null;
  parts: number;
}

/** The files of two checkpoints, compared by size and by the checksums of their parts. */
export interface FilesCompared {
  added: { path: string; sizeBytes: number }[];
  removed: { path: string; sizeBytes: number }[];
  changed: FileChange[];
  same: number;
  unknown: number;
  /** Rows left out of the lists above. */
  omitted: number;
}

/** `files` is null when single files were compared. */
export type PlacesCompared = Comparison & { files: FilesCompared | null };
