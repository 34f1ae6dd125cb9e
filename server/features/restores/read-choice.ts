import { stepText } from "#protocol/checkpoint/step-words.ts";
import type { StoredManifest } from "#protocol/checkpoint/adopted.ts";
import { Fault } from "#protocol/faults/fault.ts";
import type { FilePath } from "#protocol/base/names.ts";
import { MOST_CHOSEN } from "#protocol/wire/command-shapes.ts";
import { filesOfRank } from "#protocol/checkpoint/rank-files.ts";
import type { FileChoice, TensorChoice } from "#protocol/wire/restoring.ts";
import { readStored } from "#server/core/checkpoints/manifest/stored-manifest.ts";

export interface Chosen {
  /** Null: all files. */
  files: FilePath[] | null;
  fileCount: number;
  sizeBytes: number;
  /** The chosen files with their extents, to estimate the cost of the requests. */
  of: StoredManifest["files"];
}

/**
 * Resolves a choice of files.
 * @throws Fault NOT_FOUND for a name it does not hold, BAD_INPUT for a rank that cannot be told, TOO_LARGE
 */
export async function readChoice(
  content: { manifest: string; files: string },
  choice: Exclude<FileChoice, TensorChoice>,
): Promise<Chosen> {
  const { files, run, step } = await readStored(content, null);
  const sum = (some: StoredManifest["files"]) => some.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  if (choice === null) return { files: null, fileCount: files.length, sizeBytes: sum(files), of: files };
  const names =
    "files" in choice
      ? choice.files
      : filesOfRank(
          files.map(({ path }) => path),
          choice,
        );
  if (names.length > MOST_CHOSEN) {
    const detail = `${names.length} files are meant; one request names ${MOST_CHOSEN}: restore all of them`;
    throw new Fault("TOO_LARGE", { op: "restore", subject: "files", detail });
  }
  const wanted = new Set<string>(names);
  const of = files.filter(({ path }) => wanted.delete(path));
  const [missing] = wanted;
  if (missing !== undefined) {
    throw new Fault("NOT_FOUND", {
      op: "restore",
      subject: missing,
      detail: `${stepText(step)} of ${run} has no such file`,
    });
  }
  return { files: [...new Set(names)], fileCount: of.length, sizeBytes: sum(of), of };
}
