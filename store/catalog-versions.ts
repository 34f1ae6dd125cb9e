/**
 * Object versions of buckets with versioning. The newest object of a key is in `objects`, as in any bucket, so that other
 * code needs no special case. Older versions and delete markers are in `versions`. An object's id is its version id.
 */
import {
  condemn,
  objectFrom,
  segmentsOf,
  type FreedBlobs,
  type ListQuery,
  type StoredObject,
} from "./catalog-objects.ts";
import { change, firstRow, numberOf, textOf, type Database, type Row } from "./database.ts";
import { raiseNewest } from "./shelve-version.ts";
import { walkKeys, type Seek, type WalkPage } from "./walk-keys.ts";

/** Enables versioning of a bucket. This store cannot suspend it. */
export function keepVersions(database: Database, bucket: string): void {
  change(database, "INSERT OR IGNORE INTO versioned (bucket) VALUES (?)", [bucket]);
}

/** One version of a key: an object or a delete marker. */
export type Version = { readonly object: StoredObject; readonly isMark: boolean };

/** Returns a version by its id, or undefined. */
export function findVersion(
  database: Database,
  at: { readonly bucket: string; readonly key: string; readonly id: string },
): Version | undefined {
  const values = [at.bucket, at.key, at.id];
  const newest = firstRow(database, "SELECT * FROM objects WHERE bucket = ? AND key = ? AND id = ?", values);
  if (newest !== undefined) return { object: objectFrom(newest), isMark: false };
  const row = firstRow(database, "SELECT * FROM versions WHERE bucket = ? AND key = ? AND id = ?", values);
  return row === undefined ? undefined : { object: objectFrom(row), isMark: numberOf(row, "marker") === 1 };
}

/** Deletes one version permanently; the next older one becomes the newest. Returns the freed blobs. */
export function removeVersion(
  database: Database,
  at: { readonly bucket: string; readonly key: string; readonly id: string },
): FreedBlobs {
  return database.transaction(() => {
    const values = [at.bucket, at.key, at.id];
    const freed = segmentsOf(database, at.id).map((segment) => segment.blob);
    const removed =
      change(database, "DELETE FROM objects WHERE bucket = ? AND key = ? AND id = ?", values) +
      change(database, "DELETE FROM versions WHERE bucket = ? AND key = ? AND id = ?", values);
    if (removed === 0) return [];
    change(database, "DELETE FROM segments WHERE object_id = ?", [at.id]);
    condemn(database, freed);
    raiseNewest(database, at.bucket, at.key);
    return freed;
  });
}

/** The version fields that a listing shows. */
export type VersionSummary = Pick<StoredObject, "key" | "id" | "sizeBytes" | "etag" | "modifiedMs"> & {
  readonly isMark: boolean;
  readonly isNewest: boolean;
};

/** Sorts current objects before all older versions: larger than any `seq` of the index. */
const NEWEST = 2 ** 52;
const ROWS = `
  SELECT key, id, size, etag, modified_ms, 0 AS marker, ${NEWEST} AS seq FROM objects WHERE bucket = :bucket AND key >= :key
  UNION ALL
  SELECT key, id, size, etag, modified_ms, marker, seq FROM versions WHERE bucket = :bucket AND key >= :key
  ORDER BY key, seq DESC`;

/** Lists one page of versions in key order, newest first. */
export function listVersions(database: Database, query: ListQuery): WalkPage<VersionSummary> {
  // A row is the newest of its key if the previous row has another key.
  let before = "";
  const { bucket } = query;
  function* scan(seek: Seek): Generator<Row> {
    let isPast = seek.mode === "at" || seek.uploadId === undefined;
    for (const row of database.prepare(ROWS).iterate({ bucket, key: seek.key })) {
      const key = textOf(row, "key");
      const isFirst = key !== before;
      before = key;
      if (key === seek.key && seek.mode === "after") {
        const isMarked = !isPast && textOf(row, "id") === seek.uploadId;
        if (seek.uploadId === undefined || !isPast) {
          isPast ||= isMarked;
          continue;
        }
      }
      yield { ...row, first: isFirst ? 1 : 0 };
    }
  }
  const page = walkKeys<Row>({ ...query, scan, keyOf: (row) => textOf(row, "key") });
  return {
    ...page,
    entries: page.entries.map((entry) =>
      entry.kind === "prefix" ? entry : { kind: "row", row: summaryFrom(entry.row) },
    ),
  };
}

const summaryFrom = (row: Row): VersionSummary => ({
  key: textOf(row, "key"),
  id: textOf(row, "id"),
  sizeBytes: numberOf(row, "size"),
  etag: textOf(row, "etag"),
  modifiedMs: numberOf(row, "modified_ms"),
  isMark: numberOf(row, "marker") === 1,
  isNewest: numberOf(row, "first") === 1,
});
