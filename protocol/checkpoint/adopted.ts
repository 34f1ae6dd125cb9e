import * as z from "zod";
import { metricValue, MOST_METRICS, recordOf } from "../base/bounded.ts";
import {
  checkFiles,
  checkpointRole,
  crc32Hex,
  extent,
  home,
  manifest,
  manifestFile,
  MAX_FILES,
  type Extent,
  type ManifestFile,
} from "./checkpoint.ts";
import { attemptId, id, runName, step } from "../base/names.ts";
import { VERDICTS } from "../recognition/recognise.ts";

/**
 * An external checkpoint: objects that another tool left in a bucket and that Tidemark can restore. They stay where they
 * are: Tidemark never writes, moves or deletes them. An extent points to a foreign key, pinned by size and ETag. It has a
 * checksum only after a node has read the object (`sums`). Epoch 0 precedes every writer, so that any checkpoint that a run
 * writes itself is newer.
 */
export const ADOPTED_EPOCH = 0;

const adoptedFile = manifestFile.extend({
  // Each object is one file: nothing is packed or compressed.
  extents: z.array(extent.omit({ stored: true }).extend({ crc32: crc32Hex.nullable() })).max(10_000),
});

/** Common prefix of the keys of an external checkpoint; empty for the whole bucket. For a single file its key. */
export const foundPlace = z.string().max(1024);

const origin = z.object({
  place: foundPlace,
  kind: z.enum(["folder", "file"]),
  verdict: z.enum(VERDICTS),
  reason: z.string().max(1024),
  adoptedAt: z.number().int().min(0),
});

export const adoptedManifest = z
  .object({
    format: z.literal("tidemark.adopted"),
    version: z.literal(1),
    id,
    run: runName,
    step,
    writerEpoch: z.literal(ADOPTED_EPOCH),
    parent: z.null(),
    attempt: attemptId,
    node: z.null(),
    framework: z.string().max(64).nullable(),
    /** Present when there are only weights: no run continues from them by itself. */
    role: checkpointRole.optional(),
    metrics: recordOf(z.string().max(200), metricValue, MOST_METRICS),
    /** Time at which the newest of its objects was written, by the store's clock. */
    capturedAt: z.number().int().min(0).max(8_640_000_000_000_000),
    sizeBytes: manifest.shape.sizeBytes,
    homes: z.array(home).min(1).max(1),
    transform: z.object({ kind: z.literal("none") }),
    origin,
    files: z.array(adoptedFile).min(1).max(MAX_FILES),
  })
  .superRefine(checkFiles);
export type AdoptedManifest = z.infer<typeof adoptedManifest>;

/** Any manifest of a checkpoint. Readers accept this; only a commit requires Tidemark's own. */
export const storedManifest = z.discriminatedUnion("format", [manifest, adoptedManifest]);
export type StoredManifest = z.infer<typeof storedManifest>;
/** An extent whose checksum may not be known yet. */
export type StoredExtent = Omit<Extent, "crc32"> & { crc32: string | null };
export type StoredFile = Omit<ManifestFile, "extents"> & { extents: StoredExtent[] };

export const isAdopted = (value: StoredManifest): value is AdoptedManifest => value.format === "tidemark.adopted";

/** CRC32 of every extent, by file in the order of the manifest; null for a file that was not read. */
export const extentSums = z.array(z.array(crc32Hex).max(10_000).nullable()).max(MAX_FILES);
export type ExtentSums = z.infer<typeof extentSums>;

/** Returns the manifest with the checksums found since. Ignores checksums of a file whose number of extents differs. */
export function withSums(read: AdoptedManifest, sums: ExtentSums): AdoptedManifest {
  return {
    ...read,
    files: read.files.map((file, index) => {
      const own = sums[index] ?? null;
      if (own === null || own.length !== file.extents.length) return file;
      return { ...file, extents: file.extents.map((piece, at) => ({ ...piece, crc32: own[at] ?? piece.crc32 })) };
    }),
  };
}

export const tellSumsInput = z.object({ checkpointId: id, sums: extentSums });

/** An external checkpoint that a person chose to register. The hub refuses when `verdict`, as shown, has changed since. */
export const adoptInput = z.object({
  profileId: id,
  run: runName,
  place: foundPlace,
  kind: z.enum(["folder", "file"]),
  step,
  verdict: z.enum(VERDICTS),
});
export interface AdoptAnswer {
  checkpointId: string;
}

/** Origin of an external checkpoint, as pages show it. */
export interface AdoptionView {
  place: string;
  verdict: (typeof VERDICTS)[number];
  reason: string;
  adoptedAt: number;
  adoptedBy: string;
  /** Null: no node has read the files, so only the ETags pin them. */
  summed: { at: number; by: string; files: number } | null;
}
