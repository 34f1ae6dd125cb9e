const ARCHIVES: ReadonlySet<string> = new Set(["GLACIER", "DEEP_ARCHIVE"]);

/** Returns whether objects of a storage class must be restored before they can be read. GLACIER_IR objects are read directly. */
export const isArchive = (storageClass: string | null): boolean => storageClass !== null && ARCHIVES.has(storageClass);
