import type { CheckpointInspection, FileFormat, FileSummary } from "#protocol/checkpoint/inspect.ts";
import { visibleStart } from "#protocol/base/visible-text.ts";
import { sumUp } from "#storage/inspect/summarise.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { openCheckpoint } from "#server/core/checkpoints/find-file.ts";
import { inspectFiles } from "#server/core/checkpoints/inspect-files.ts";
import type { InspectedFile } from "#storage/inspect/compare-checkpoints.ts";

const MOST_TENSORS = 200_000;

/**
 * Summarizes all files of a checkpoint: its tensors together, and each file without them.
 * @throws Fault NOT_FOUND, CHECKPOINT_INCOMPLETE, CHECKSUM_MISMATCH, CANCELLED
 */
export async function inspectCheckpoint(
  hub: Hub,
  checkpointId: string,
  signal: AbortSignal,
): Promise<CheckpointInspection> {
  const checkpoint = await openCheckpoint(hub, checkpointId);
  const { files, omitted } = await inspectFiles(hub, checkpoint, signal);
  const paths = new Set<string>(checkpoint.manifest.files.map(({ path }) => path));
  const tensors = files.flatMap(({ found }) => found?.tensors ?? []);
  const warnings = files.flatMap((one) => missingNames(one, paths));
  if (tensors.length > MOST_TENSORS)
    warnings.push(`the sums are of the first ${MOST_TENSORS} of its ${tensors.length} tensors`);
  const frameworks = files.map(({ found }) => found?.framework ?? null).filter((name) => name !== null);
  return {
    checkpointId,
    framework: checkpoint.manifest.framework ?? frameworks[0] ?? null,
    ...sumUp(tensors.slice(0, MOST_TENSORS)),
    curve: files.find(({ found }) => found?.curve !== null && found !== null)?.found?.curve ?? null,
    files: files.map(summaryOf),
    filesOmitted: omitted,
    warnings: warnings.slice(0, 50),
  };
}

const NAMING: ReadonlySet<FileFormat> = new Set(["safetensors-index", "torch-dcp", "orbax"]);

/** Returns a warning for each file that an index or a `.metadata` names and that the checkpoint lacks. */
function missingNames({ file, found }: InspectedFile, paths: ReadonlySet<string>): string[] {
  if (found === null || !NAMING.has(found.format)) return [];
  const folder = file.path.slice(0, file.path.lastIndexOf("/") + 1);
  return found.names
    .filter((name) => !paths.has(folder + name))
    .map((name) => `${visibleStart(file.path, 200)} names ${visibleStart(name, 200)}, which is not in the checkpoint`);
}

function summaryOf({ file, found, fault }: InspectedFile): FileSummary {
  if (found === null) {
    return {
      path: file.path,
      format: "binary",
      sizeBytes: file.sizeBytes,
      readBytes: 0,
      reads: 0,
      parameters: 0,
      weights: 0,
      tensorBytes: 0,
      tensors: 0,
      dtypes: [],
      metadata: [],
      names: [],
      curve: null,
      framework: null,
      warnings: [],
      fault: fault?.toData() ?? null,
    };
  }
  const { tensors, tree: _tree, preview: _preview, tensorsOmitted: _omitted, ...rest } = found;
  return {
    ...rest,
    tensors: tensors.length,
    names: found.names.slice(0, 100),
    metadata: found.metadata.slice(0, 50),
    curve: null,
  };
}
