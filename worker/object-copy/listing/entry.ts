import type { ObjectSum } from "#storage/checksums/crc32.ts";
import type { FoundFile } from "./walk.ts";

/** What lies on one side of a copy, by its name relative to the side. */
export interface FileEntry extends FoundFile {
  readonly at: "local";
}
/** One object below the prefix of a side. */
export interface ObjectEntry {
  readonly at: "store";
  readonly relative: string;
  readonly sizeBytes: number;
  readonly modifiedAtMs: number | null;
  readonly key: string;
  readonly etag: string | null;
  /** What its bytes can be compared with, where a HEAD told it. */
  readonly checks?: { sum: ObjectSum | null; isOpaque: boolean };
}
/** A row of either side. */
export type Entry = FileEntry | ObjectEntry;
