import { stepText } from "#protocol/checkpoint/step-words.ts";
import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { FileInspection } from "#protocol/checkpoint/inspect.ts";
import { MOST_CHOSEN } from "#protocol/wire/command-shapes.ts";
import type { FileChoice, TensorChoice } from "#protocol/wire/restoring.ts";
import { neededPieces, type NeededPiece } from "#storage/tensors/cut-out.ts";
import { createTensorChooser, tensorFiles } from "#storage/tensors/tensor-files.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { openCheckpoint, type ReadableCheckpoint } from "#server/core/checkpoints/find-file.ts";
import { inspectFiles } from "#server/core/checkpoints/inspect-files.ts";
import type { InspectedFile } from "#storage/inspect/compare-checkpoints.ts";
import { readChoice, type Chosen } from "./read-choice.ts";

/**
 * Tensors that a restore moves, by the headers of the files, which the hub reads like the inspector, within the same limits.
 * The node gets only file names and patterns; it reads the headers itself and trusts nothing but verified bytes.
 */
export interface ChosenTensors {
  patterns: string[];
  count: number;
  /** Bytes of the tensors alone; `sizeBytes` of the choice counts the bytes to move. */
  bytes: number;
}

export type ChosenParts = Chosen & { tensors: ChosenTensors | null };

const isOfTensors = (choice: FileChoice): choice is TensorChoice => choice !== null && "tensors" in choice;

/** Resolves a choice of files or tensors. @throws Fault those of `readChoice`, of `chooseTensors` */
export async function chooseParts(
  hub: Hub,
  about: { checkpointId: string; content: { manifest: string; files: string }; choice: FileChoice },
): Promise<ChosenParts> {
  const { choice, content } = about;
  if (!isOfTensors(choice)) return { ...(await readChoice(content, choice)), tensors: null };
  return chooseTensors(hub, about.checkpointId, choice);
}

/**
 * Resolves a choice of tensors.
 * @throws Fault BAD_INPUT, NOT_FOUND, TOO_LARGE, MALFORMED, TOO_MUCH_INSIDE, those of the store, CANCELLED
 */
async function chooseTensors(hub: Hub, checkpointId: string, choice: TensorChoice): Promise<ChosenParts> {
  const checkpoint = await openCheckpoint(hub, checkpointId);
  const { manifest } = checkpoint;
  requireFiles(checkpoint, choice.files ?? []);
  const chooser = createTensorChooser(choice.tensors);
  const { shards, indexes } = tensorFiles(manifest, choice.files ?? null);
  const inspected = await lookAt(hub, checkpoint, shards);
  const seen: string[] = [];
  let [count, bytes] = [0, 0];
  const touched = inspected.flatMap((one): StoredFile[] => {
    const { file, found } = readable(one);
    const fitting = found.tensors.filter(({ name }) => chooser.fits(name));
    seen.push(...found.tensors.slice(0, MOST_SEEN - seen.length).map(({ name }) => name));
    count += fitting.length;
    bytes += fitting.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return fitting.length === 0 ? [] : [{ ...file, extents: extentsOf(file, piecesFor(file, found, fitting)) }];
  });
  chooser.requireAll(seen);
  const folders = new Set(touched.map(({ path }) => folderOf(path)));
  const beside = indexes.filter(({ path }) => folders.has(folderOf(path)));
  const of = [...touched, ...(await indexesOf(hub, checkpoint, { beside, touched }))];
  if (of.length > MOST_CHOSEN) {
    const detail = `${of.length} files hold such tensors; one request names ${MOST_CHOSEN}`;
    throw new Fault("TOO_LARGE", { op: "restore", subject: "files", detail });
  }
  const sizeBytes = of.reduce((sum, { extents }) => sum + extents.reduce((all, { length }) => all + length, 0), 0);
  return {
    files: of.map(({ path }) => path),
    fileCount: of.length,
    sizeBytes,
    of,
    tensors: { patterns: choice.tensors, count, bytes },
  };
}

/** Most tensor names that are collected for the error message. */
const MOST_SEEN = 1_000;

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

function requireFiles({ manifest }: ReadableCheckpoint, files: readonly string[]): void {
  const there = new Set<string>(manifest.files.map(({ path }) => path));
  const missing = files.find((path) => !there.has(path));
  if (missing === undefined) return;
  const detail = `${stepText(manifest.step)} of ${manifest.run} has no such file`;
  throw new Fault("NOT_FOUND", { op: "restore", subject: missing, detail });
}

async function lookAt(hub: Hub, checkpoint: ReadableCheckpoint, files: StoredFile[]): Promise<InspectedFile[]> {
  if (files.length === 0) return [];
  // The inspector reads all files of a manifest, so it gets one with these files only.
  const narrowed = { ...checkpoint, manifest: { ...checkpoint.manifest, files } } as ReadableCheckpoint;
  const looked = await inspectFiles(hub, narrowed, hub.closing);
  if (looked.omitted > 0) {
    const detail = `its tensors lie in ${files.length} files, more than are looked into for one answer; name the files too`;
    throw new Fault("TOO_LARGE", { op: "restore", subject: "tensors", detail });
  }
  return looked.files;
}

/** Returns an inspected file that can be cut. @throws Fault whatever is wrong with the file, with its path */
function readable({ file, found, fault }: InspectedFile): { file: StoredFile; found: FileInspection } {
  if (fault !== null) throw fault;
  if (found === null) throw new Fault("INTERNAL", { op: "restore", subject: file.path });
  if (found.fault !== null) {
    const { code, detail } = found.fault;
    throw new Fault(code, { op: "restore", subject: file.path, ...(detail === undefined ? {} : { detail }) });
  }
  if (found.format !== "safetensors") {
    const detail = `it is called safetensors and looks like ${found.format}`;
    throw new Fault("MALFORMED", { op: "restore", subject: file.path, detail });
  }
  return { file, found };
}

function piecesFor(file: StoredFile, found: FileInspection, fitting: FileInspection["tensors"]): NeededPiece[] {
  // The first tensor begins where the header ends.
  const head = found.tensors.reduce((least, { offset }) => Math.min(least, offset ?? least), file.sizeBytes);
  const tensors = fitting.map(({ offset, sizeBytes }) => ({ from: offset ?? 0, length: sizeBytes }));
  return neededPieces(file.extents, [{ from: 0, length: head }, ...tensors]);
}

/** Returns the extents of a file as if it consisted only of the pieces to fetch. */
const extentsOf = (file: StoredFile, pieces: readonly NeededPiece[]): StoredFile["extents"] =>
  pieces.flatMap(({ extent, from, length }) => {
    const whole = file.extents[extent];
    return whole === undefined ? [] : [{ ...whole, offset: whole.offset + from, length }];
  });

/** Returns the index files that name a file to be restored. */
async function indexesOf(
  hub: Hub,
  checkpoint: ReadableCheckpoint,
  { beside, touched }: { beside: StoredFile[]; touched: readonly StoredFile[] },
): Promise<StoredFile[]> {
  const paths = new Set<string>(touched.map(({ path }) => path));
  const looked = await lookAt(hub, checkpoint, beside);
  return looked.flatMap(({ file, found, fault }) => {
    if (fault !== null) throw fault;
    return found?.names.some((name) => paths.has(folderOf(file.path) + name)) === true ? [file] : [];
  });
}
