const ARCHIVES: ReadonlySet<string> = new Set(["GLACIER", "DEEP_ARCHIVE"]);

/** Returns whether objects of a class have to be brought back before they can be read. Those of GLACIER_IR need not. */
export const isArchive = (storageClass: string | null): boolean => storageClass !== null && ARCHIVES.has(storageClass);
