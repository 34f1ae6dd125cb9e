import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { inspectManifestFile, type ReadableCheckpoint } from "#server/core/checkpoints/find-file.ts";

const MOST_FILES = 500;
const MOST_READ_BYTES = 128 * 1024 * 1024;
const LONGEST_MS = 60_000;
/** Limit for all files together: a few bytes of a file may describe a tensor. */
const MOST_TENSORS = 300_000;
const AT_A_TIME = 4;

export interface InspectedFile {
  file: StoredFile;
  /** Null when it could not be read; `fault` says why. */
  found: FileInspection | null;
  fault: Fault | null;
}

/**
 * Inspects the files of a checkpoint, several at a time, as many as fit into one answer. A file that cannot be read is
 * returned with its fault and does not stop the others. Faults: CANCELLED.
 */
export async function inspectFiles(
  hub: Hub,
  { store, manifest, key }: ReadableCheckpoint,
  asked: AbortSignal,
): Promise<{ files: InspectedFile[]; omitted: number }> {
  const signal = AbortSignal.any([asked, hub.closing]);
  const startedAt = performance.now();
  const queue = manifest.files.slice(0, MOST_FILES).entries();
  const results: { index: number; one: InspectedFile }[] = [];
  let readBytes = 0;
  let tensors = 0;
  const lane = async () => {
    for (const [index, file] of queue) {
      if (signal.aborted) throw new Fault("CANCELLED", { op: "inspect" });
      if (tensors > MOST_TENSORS || readBytes > MOST_READ_BYTES || performance.now() - startedAt > LONGEST_MS) return;
      try {
        const found = await inspectManifestFile(hub, { store, file, files: manifest.files, key, signal });
        readBytes += found.readBytes;
        tensors += found.tensors.length;
        results.push({ index, one: { file, found, fault: null } });
      } catch (error) {
        if (!isFault(error) || signal.aborted) throw error;
        results.push({ index, one: { file, found: null, fault: error } });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  const files = results.sort((a, b) => a.index - b.index).map(({ one }) => one);
  return { files, omitted: manifest.files.length - files.length };
}
