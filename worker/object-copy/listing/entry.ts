import type { ObjectSum } from "#storage/checksums/crc32.ts";
import type { FoundFile } from "./walk.ts";

/** One file below the folder of a side. */
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
  /** As in a listing. */
  readonly mayBeArchived?: true;
  /** Checksum of the bytes, where a HEAD was made. */
  readonly checks?: { sum: ObjectSum | null; isOpaque: boolean };
}
/** A row of either side. */
export type Entry = FileEntry | ObjectEntry;
