import * as z from "zod";
import type { FaultData } from "../faults/fault.ts";
import { addressText, byteCount } from "../base/bounded.ts";
import { etag } from "./checkpoint.ts";
import { filePath, id } from "../base/names.ts";

/**
 * What is found inside files without running anything of theirs. Names, metadata and text are a stranger's words: they
 * come with control and direction marks made visible (`visible-text.ts`) wherever they are meant for people, and as they
 * are in `name` of a tensor, so that two files can be compared.
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

/** `weights` is the model; `state` what a restart needs beside it (optimizer, schedule, random numbers). */
export type TensorRole = "weights" | "state";

export interface TensorFacts {
  name: string;
  /** As safetensors names them (F32, BF16, F8_E4M3), quantised types as GGUF does (Q4_K), `OPAQUE` when it has no name. */
  dtype: string;
  /** Slowest dimension first, whatever the file's own order. */
  shape: number[];
  sizeBytes: number;
  /** Where its bytes begin in the file; null when they lie elsewhere, in pieces, or where is not said. */
  offset: number | null;
  role: TensorRole;
  /** Of its stored bytes, as its own file says; null where it does not. Eight lower-case hex digits. */
  crc32: string | null;
}

export interface DtypeShare {
  dtype: string;
  tensors: number;
  parameters: number;
  sizeBytes: number;
}

/** Tensors by the parts of their names. What does not fit is summed up in a child named `…`. */
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

/** What a Trainer wrote down of its training. Evenly thinned out to INSPECT_LIMITS.points; the last point always stays. */
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
  /** Made visible and cut to 1,024 characters. */
  value: string;
}

export interface FileInspection {
  path: string;
  format: FileFormat;
  sizeBytes: number;
  /** So much of it was read, in so many requests. */
  readBytes: number;
  reads: number;
  /** Elements of all tensors, and of those that are the model. */
  parameters: number;
  weights: number;
  tensorBytes: number;
  /** In the order of the file. */
  tensors: TensorFacts[];
  /** Tensors that are counted above but left out of the list. */
  tensorsOmitted: number;
  dtypes: DtypeShare[];
  tree: TensorTree;
  metadata: MetadataEntry[];
  /** Other files that it says belong to it. */
  names: string[];
  curve: LossCurve | null;
  /** The beginning of a text, made visible. */
  preview: string | null;
  /** Who seems to have written it. */
  framework: string | null;
  warnings: string[];
  /** Why there is no more to be said of it: it is damaged, or larger inside than is looked at. */
  fault: FaultData | null;
}

/** A file of a checkpoint in the answer for the whole; its tensors are asked for by themselves. */
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
  /** Not looked at, because there are more files, or more bytes would have been read, than are for one answer. */
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
  /** Same name, shape and dtype; by what checksums say of their bytes. */
  same: number;
  differs: string[];
  unknown: number;
  /** Rows left out of each list above, all lists together. */
  omitted: number;
  warnings: string[];
}

const key = addressText(1024).min(1);
export const inspectPlace = z.union([
  z.object({ checkpointId: id, path: filePath }).strict(),
  z.object({ profileId: id, key, etag: etag.nullable().default(null) }).strict(),
]);
export type InspectPlace = z.infer<typeof inspectPlace>;
/** As a page names it, before it was parsed. */
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
  /** Parts of which the checksums differ; null where the parts do not line up. */
  changedParts: number | null;
  parts: number;
}

/** The files of two checkpoints, by their sizes and the checksums of their parts. */
export interface FilesCompared {
  added: { path: string; sizeBytes: number }[];
  removed: { path: string; sizeBytes: number }[];
  changed: FileChange[];
  same: number;
  unknown: number;
  /** Rows left out of the lists above. */
  omitted: number;
}

/** `files` is null where single files were compared. */
export type PlacesCompared = Comparison & { files: FilesCompared | null };
