/** Multipart uploads and their parts in the index. A part is a blob; completing an upload passes its blobs to the object. */
import { readAlgorithm, type ChecksumAlgorithm, type ChecksumType } from "./checksum.ts";
import {
  condemn,
  writeObject,
  type FreedBlobs,
  type ListQuery,
  type Segment,
  type StoredObject,
} from "./catalog-objects.ts";
import {
  allRows,
  change,
  firstRow,
  headersOf,
  numberOf,
  optionalTextOf,
  textOf,
  type Database,
  type Row,
} from "./database.ts";
import { walkKeys, type WalkPage } from "./walk-keys.ts";

/** A multipart upload in progress. `algorithm` and `type` were declared at its creation. */
export type Upload = {
  readonly bucket: string;
  readonly key: string;
  readonly id: string;
  readonly startedMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly algorithm: ChecksumAlgorithm | undefined;
  readonly type: ChecksumType | undefined;
};

/** One stored part; `md5` is hex and is its ETag. */
export type Part = {
  readonly number: number;
  readonly blob: string;
  readonly sizeBytes: number;
  readonly md5: string;
  readonly modifiedMs: number;
  readonly algorithm: ChecksumAlgorithm | undefined;
  readonly checksum: string | undefined;
};

function uploadFrom(row: Row): Upload {
  const type = optionalTextOf(row, "type");
  return {
    bucket: textOf(row, "bucket"),
    key: textOf(row, "key"),
    id: textOf(row, "id"),
    startedMs: numberOf(row, "started_ms"),
    headers: headersOf(row, "headers"),
    algorithm: readAlgorithm(optionalTextOf(row, "algorithm")),
    type: type === "COMPOSITE" || type === "FULL_OBJECT" ? type : undefined,
  };
}

function partFrom(row: Row): Part {
  return {
    number: numberOf(row, "number"),
    blob: textOf(row, "blob"),
    sizeBytes: numberOf(row, "size"),
    md5: textOf(row, "md5"),
    modifiedMs: numberOf(row, "modified_ms"),
    algorithm: readAlgorithm(optionalTextOf(row, "algorithm")),
    checksum: optionalTextOf(row, "checksum"),
  };
}

/** Starts an upload. */
export function createUpload(database: Database, upload: Upload): void {
  change(
    database,
    "INSERT INTO uploads (bucket, key, id, started_ms, headers, algorithm, type) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [
      upload.bucket,
      upload.key,
      upload.id,
      upload.startedMs,
      JSON.stringify(upload.headers),
      upload.algorithm ?? null,
      upload.type ?? null,
    ],
  );
}

/** Identifies an upload: the id must belong to this bucket and key. */
export type UploadName = Pick<Upload, "bucket" | "key" | "id">;

/** Returns an upload in progress, or undefined. */
export function findUpload(database: Database, name: UploadName): Upload | undefined {
  const sql = "SELECT * FROM uploads WHERE bucket = ? AND key = ? AND id = ?";
  const row = firstRow(database, sql, [name.bucket, name.key, name.id]);
  return row === undefined ? undefined : uploadFrom(row);
}

/** Stores a part, replacing one of the same number; returns the freed blob. */
export function putPart(database: Database, uploadId: string, part: Part): FreedBlobs {
  return database.transaction(() => {
    const sql = "SELECT blob FROM parts WHERE upload_id = ? AND number = ?";
    const old = firstRow(database, sql, [uploadId, part.number]);
    const freed = old === undefined ? [] : [textOf(old, "blob")];
    change(
      database,
      "INSERT OR REPLACE INTO parts (upload_id, number, blob, size, md5, modified_ms, algorithm, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [
        uploadId,
        part.number,
        part.blob,
        part.sizeBytes,
        part.md5,
        part.modifiedMs,
        part.algorithm ?? null,
        part.checksum ?? null,
      ],
    );
    condemn(database, freed);
    return freed;
  });
}

/** Returns at most `limit` parts with numbers above `afterNumber`, in order. */
export function listParts(
  database: Database,
  uploadId: string,
  page: { readonly afterNumber: number; readonly limit: number },
): readonly Part[] {
  const sql = "SELECT * FROM parts WHERE upload_id = ? AND number > ? ORDER BY number LIMIT ?";
  return allRows(database, sql, [uploadId, page.afterNumber, page.limit]).map(partFrom);
}

function dropUpload(database: Database, name: UploadName): void {
  change(database, "DELETE FROM parts WHERE upload_id = ?", [name.id]);
  change(database, "DELETE FROM uploads WHERE bucket = ? AND key = ? AND id = ?", [name.bucket, name.key, name.id]);
}

/** Aborts an upload; returns the blobs of its parts. */
export function abortUpload(database: Database, name: UploadName): FreedBlobs {
  return database.transaction(() => {
    const rows = allRows(database, "SELECT blob FROM parts WHERE upload_id = ?", [name.id]);
    const freed = rows.map((row) => textOf(row, "blob"));
    dropUpload(database, name);
    condemn(database, freed);
    return freed;
  });
}

/** Completes an upload to an object of the given parts; returns the freed blobs. */
export function completeUpload(
  database: Database,
  name: UploadName,
  result: { readonly object: StoredObject; readonly segments: readonly Segment[] },
): FreedBlobs {
  return database.transaction(() => {
    const kept = new Set(result.segments.map((segment) => segment.blob));
    const rows = allRows(database, "SELECT blob FROM parts WHERE upload_id = ?", [name.id]);
    const unused = rows.map((row) => textOf(row, "blob")).filter((blob) => !kept.has(blob));
    dropUpload(database, name);
    condemn(database, unused);
    return [...unused, ...writeObject(database, result.object, result.segments)];
  });
}

const LIST_AT = "SELECT * FROM uploads WHERE bucket = ? AND key >= ? ORDER BY key, id";
const LIST_AFTER = "SELECT * FROM uploads WHERE bucket = ? AND key > ? ORDER BY key, id";
const LIST_AFTER_ID = "SELECT * FROM uploads WHERE bucket = ? AND (key, id) > (?, ?) ORDER BY key, id";

/** Lists one page of uploads in progress by key, then by id. */
export function listUploads(database: Database, query: ListQuery): WalkPage<Upload> {
  const page = walkKeys<Row>({
    ...query,
    scan: (seek) => {
      if (seek.mode === "after" && seek.uploadId !== undefined) {
        return database.prepare(LIST_AFTER_ID).iterate(query.bucket, seek.key, seek.uploadId);
      }
      return database.prepare(seek.mode === "at" ? LIST_AT : LIST_AFTER).iterate(query.bucket, seek.key);
    },
    keyOf: (row) => textOf(row, "key"),
  });
  return {
    ...page,
    entries: page.entries.map((entry) =>
      entry.kind === "prefix" ? entry : { kind: "row", row: uploadFrom(entry.row) },
    ),
  };
}
