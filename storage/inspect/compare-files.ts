import type { StoredExtent, StoredFile } from "#protocol/checkpoint/adopted.ts";
import type { Pauses } from "../manifest/wanted-objects.ts";
import type { FilesCompared } from "#protocol/checkpoint/inspect.ts";

const MOST_ROWS = 2_000;

const NO_PAUSES: Pauses = { isDue: () => false, take: () => Promise.resolve() };

/**
 * Compares the files of two checkpoints by their manifests alone. Equal size is not enough: parts of equal length are compared
 * by checksum, and a file whose parts do not line up or have no checksum counts as unknown. Yields to the event loop when `pauses` says so.
 */
export async function compareFiles(
  from: readonly StoredFile[],
  to: readonly StoredFile[],
  pauses: Pauses = NO_PAUSES,
): Promise<FilesCompared> {
  const before = new Map<string, StoredFile>(from.map((file) => [file.path, file]));
  const after = new Set<string>(to.map(({ path }) => path));
  const result: FilesCompared = { added: [], removed: [], changed: [], same: 0, unknown: 0, omitted: 0 };
  const put = <T>(rows: T[], row: T) => {
    if (rows.length < MOST_ROWS) rows.push(row);
    else result.omitted++;
  };
  for (const { path, sizeBytes } of from) {
    if (pauses.isDue()) await pauses.take();
    if (!after.has(path)) put(result.removed, { path, sizeBytes });
  }
  for (const { path, sizeBytes, extents } of to) {
    if (pauses.isDue()) await pauses.take();
    const was = before.get(path);
    if (was === undefined) {
      put(result.added, { path, sizeBytes });
      continue;
    }
    const changedParts = changedIn(was.extents, extents);
    const isChanged = was.sizeBytes !== sizeBytes || (changedParts !== null && changedParts > 0);
    if (isChanged)
      put(result.changed, { path, fromBytes: was.sizeBytes, toBytes: sizeBytes, changedParts, parts: extents.length });
    else if (changedParts === null) result.unknown++;
    else result.same++;
  }
  return result;
}

/** Returns how many parts have other bytes; null where that is unknown for some part. */
function changedIn(was: readonly StoredExtent[], now: readonly StoredExtent[]): number | null {
  if (was.length !== now.length) return null;
  let changed = 0;
  for (const [index, extent] of now.entries()) {
    const other = was[index];
    if (other === undefined || other.length !== extent.length) return null;
    // The same range of the same version of the same object.
    if (other.key === extent.key && other.offset === extent.offset && other.etag === extent.etag) continue;
    if (other.crc32 === null || extent.crc32 === null) return null;
    if (other.crc32 !== extent.crc32) changed++;
  }
  return changed;
}
