const ARCHIVES: ReadonlySet<string> = new Set(["GLACIER", "DEEP_ARCHIVE"]);

/** Returns whether objects of a storage class must be restored before they can be read. GLACIER_IR objects are read directly. */
export const isArchive = (storageClass: string | null): boolean => storageClass !== null && ARCHIVES.has(storageClass);

/** S3 moves no smaller object of INTELLIGENT_TIERING to another tier, so it is always readable. */
const LEAST_TIERED_BYTES = 128 * 1024;

/**
 * Returns whether a listed object may be archived, which only a HEAD tells: a restored object keeps its class, and the class
 * INTELLIGENT_TIERING does not name the tier.
 */
export const mayBeArchived = (object: { storageClass: string | null; sizeBytes: number }): boolean =>
  isArchive(object.storageClass) ||
  (object.storageClass === "INTELLIGENT_TIERING" && object.sizeBytes >= LEAST_TIERED_BYTES);

/** `being-restored`: somebody has asked the store to restore it, and the store has not finished. */
export type ArchiveState = "readable" | "archived" | "being-restored";

/** Values of `x-amz-storage-class`, `x-amz-archive-status` and `x-amz-restore` of a HEAD; null where the header is absent. */
interface ArchiveHeaders {
  storageClass: string | null;
  archiveStatus: string | null;
  restore: string | null;
}

/** Returns whether the bytes of an object can be read now, by the headers of its HEAD. */
export function archiveStateOf({ storageClass, archiveStatus, restore }: ArchiveHeaders): ArchiveState {
  if (!isArchive(storageClass) && archiveStatus === null) return "readable";
  if (/ongoing-request="true"/.test(restore ?? "")) return "being-restored";
  return /ongoing-request="false"/.test(restore ?? "") ? "readable" : "archived";
}
