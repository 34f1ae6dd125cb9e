import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import { Fault, isFault } from "#protocol/faults/fault.ts";
import type { FileInspection, PlacesCompared } from "#protocol/checkpoint/inspect.ts";
import type { Pauses } from "../manifest/wanted-objects.ts";
import { compareFiles } from "./compare-files.ts";
import { compareTensors, type ComparedFile } from "./compare.ts";

/** Inspects the files of whole checkpoints within limits, and compares two checkpoints by what was found. */

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
 * Inspects files of a checkpoint, several at a time, as many as fit into one answer. A file that cannot be read is returned
 * with its fault and does not stop the others. Faults: CANCELLED.
 */
export async function inspectEach(
  files: readonly StoredFile[],
  inspect: (file: StoredFile) => Promise<FileInspection>,
  signal: AbortSignal,
): Promise<{ files: InspectedFile[]; omitted: number }> {
  const startedAt = performance.now();
  const queue = files.slice(0, MOST_FILES).entries();
  const results: { index: number; one: InspectedFile }[] = [];
  let readBytes = 0;
  let tensors = 0;
  const lane = async () => {
    for (const [index, file] of queue) {
      if (signal.aborted) throw new Fault("CANCELLED", { op: "inspect" });
      if (tensors > MOST_TENSORS || readBytes > MOST_READ_BYTES || performance.now() - startedAt > LONGEST_MS) return;
      try {
        const found = await inspect(file);
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
  const inspected = results.sort((a, b) => a.index - b.index).map(({ one }) => one);
  return { files: inspected, omitted: files.length - inspected.length };
}

/** One side of a comparison. */
export interface ComparedSide {
  files: readonly ComparedFile[];
  /** All files of the checkpoint; null for a single object. */
  all: readonly StoredFile[] | null;
  /** Names what could not be read, so that unread tensors are not taken for removed ones. */
  warnings: readonly string[];
}

/** Returns a checkpoint as one side of a comparison. */
export function sideOf(
  { files, omitted }: { files: readonly InspectedFile[]; omitted: number },
  all: readonly StoredFile[],
): ComparedSide {
  const warnings = files
    .filter(({ found, fault }) => fault !== null || (found?.fault ?? null) !== null)
    .map(({ file }) => `${file.path} could only be read in part`);
  if (omitted > 0) warnings.push(`${omitted} files were not looked at`);
  const compared = files.flatMap(({ file, found }) =>
    found === null ? [] : [{ path: file.path, tensors: found.tensors, parts: file.extents }],
  );
  return { files: compared, all, warnings };
}

/** Compares two sides: their tensors and, of checkpoints, their files. */
export async function compareSides(from: ComparedSide, to: ComparedSide, pauses?: Pauses): Promise<PlacesCompared> {
  const compared = compareTensors(from.files, to.files);
  await pauses?.take();
  const files = from.all === null || to.all === null ? null : await compareFiles(from.all, to.all, pauses);
  return { ...compared, files, warnings: [...from.warnings, ...to.warnings, ...compared.warnings] };
}
