import type { StoredFile } from "#protocol/checkpoint/adopted.ts";
import { isDamage, MOST_RANGES, type DamageReport } from "#protocol/checkpoint/damage.ts";
import { isFault } from "#protocol/faults/fault.ts";

/** What a fault that ended the transfer of a file says of the checkpoint: the bytes of it that lie in the object it names. Null when it says nothing. */
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

/** The same of files that were fetched together, each of which is one piece. */
export function damageOfFiles(error: unknown, files: readonly StoredFile[]): DamageReport | null {
  const found = files.flatMap((file) => damageOf(error, file)?.ranges ?? []);
  if (found.length === 0) return null;
  return { ranges: found.slice(0, MOST_RANGES), more: Math.max(0, found.length - MOST_RANGES) };
}
