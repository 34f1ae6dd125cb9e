import type { StoredFile, StoredManifest } from "#protocol/checkpoint/adopted.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import { fileKeyOf } from "#storage/encryption/checkpoint-key.ts";
import { isSealedFrame } from "#storage/encryption/unseal.ts";
import { inspectEach, sideOf, type ComparedSide } from "#storage/inspect/compare-checkpoints.ts";
import type { Inspector } from "#storage/inspect/inspector.ts";
import { sourceOfBytes, type ByteSource } from "#storage/inspect/source.ts";
import { readWhole, sourceOfFile, type KeyedFile, type ReadWatch } from "./file-source.ts";
import type { Engine } from "../transfer/engine.ts";
import { createPatience } from "../transfer/store-session/retry.ts";

/** A checkpoint of a bucket that can be looked into. */
export interface ReadableCheckpoint {
  engine: Engine;
  manifest: StoredManifest;
  /** Null: it is not encrypted. */
  key: Buffer | null;
}

/** Reads what describes the tensors of a checkpoint, as one side of a comparison. Faults: CANCELLED. */
export async function sideOfStored(
  inspector: Inspector,
  checkpoint: ReadableCheckpoint,
  signal: AbortSignal,
): Promise<ComparedSide> {
  const { files } = checkpoint.manifest;
  return sideOf(await inspectEach(files, inspectorOf(inspector, checkpoint, signal), signal), files);
}

/** Inspects the files of a checkpoint, as many as fit into one answer. Faults: CANCELLED. */
export const inspectStored = (
  inspector: Inspector,
  checkpoint: ReadableCheckpoint,
  signal: AbortSignal,
): ReturnType<typeof inspectEach> =>
  inspectEach(checkpoint.manifest.files, inspectorOf(inspector, checkpoint, signal), signal);

/** Returns what inspects one file of a checkpoint by reading what describes it. Faults: those of a read, CANCELLED. */
export function inspectorOf(
  inspector: Inspector,
  { engine, manifest, key }: ReadableCheckpoint,
  signal: AbortSignal,
): (file: StoredFile) => Promise<FileInspection> {
  const { files } = manifest;
  const watch: ReadWatch = { signal, patience: createPatience(engine.retrier.clock), onRetry: () => undefined };
  const open = (file: StoredFile): Promise<ByteSource> =>
    openFile(engine, key === null ? { file } : { file, fileKey: fileKeyOf(key, file.path) }, watch);
  return async (file) => {
    const folder = file.path.slice(0, file.path.lastIndexOf("/") + 1);
    return inspector.inspect(file.path, await open(file), async (relative) => {
      const beside = files.find(({ path }) => path === folder + relative);
      return beside === undefined ? null : open(beside);
    });
  };
}

/**
 * Opens a file for inspection. A compressed one can only be read as a whole, which is cheap: only small files in packs
 * are compressed.
 */
async function openFile(engine: Engine, keyed: KeyedFile, watch: ReadWatch): Promise<ByteSource> {
  const { file, fileKey } = keyed;
  const isFrame = file.extents.some((one) => (fileKey === undefined ? one.stored !== undefined : isSealedFrame(one)));
  return isFrame ? sourceOfBytes(await readWhole(engine, keyed, watch)) : sourceOfFile(engine, keyed, watch);
}
