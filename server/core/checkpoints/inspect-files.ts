import type { Hub } from "#server/core/api/hub.ts";
import { inspectManifestFile, type ReadableCheckpoint } from "#server/core/checkpoints/find-file.ts";
import { inspectEach, type InspectedFile } from "#storage/inspect/compare-checkpoints.ts";

/** Inspects the files of a checkpoint, as many as fit into one answer. Faults: CANCELLED. */
export function inspectFiles(
  hub: Hub,
  { store, manifest, key }: ReadableCheckpoint,
  asked: AbortSignal,
): Promise<{ files: InspectedFile[]; omitted: number }> {
  const signal = AbortSignal.any([asked, hub.closing]);
  const { files } = manifest;
  return inspectEach(files, (file) => inspectManifestFile(hub, { store, file, files, key, signal }), signal);
}
