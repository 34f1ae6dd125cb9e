import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import { isDamage, MOST_RANGES, type DamageReport } from "#protocol/checkpoint/damage.ts";
import { isFault } from "#protocol/faults/fault.ts";

/**
 * Returns the damage that a failed transfer shows: the bytes of the file in the object that the fault names. Null: it shows
 * none.
 */
export function damageOf(error: unknown, file: StoredFile): DamageReport | null {
  if (!isFault(error) || !isDamage(error.code)) return null;
  const { subject } = error.context;
  let fileOffset = 0;
  let from: number | null = null;
  let to = Math.max(0, file.sizeBytes - 1);
  for (const { key, length } of file.extents) {
    if (key === subject) {
      from ??= fileOffset;
      to = fileOffset + length - 1;
    }
    fileOffset += length;
  }
  return { ranges: [{ path: file.path, from: from ?? 0, to, fault: error.toData() }], more: 0 };
}

/** Returns the same for files that were fetched together, each of which is one piece. */
export function damageOfFiles(error: unknown, files: readonly StoredFile[]): DamageReport | null {
  const found = files.flatMap((file) => damageOf(error, file)?.ranges ?? []);
  if (found.length === 0) return null;
  return { ranges: found.slice(0, MOST_RANGES), more: Math.max(0, found.length - MOST_RANGES) };
}
