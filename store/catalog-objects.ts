/**
 * Buckets and objects in the index. An object is an ordered list of blobs, so completing a multipart upload moves no
 * bytes. Every change that frees a blob records it as garbage in the same transaction; its file is deleted afterwards.
 */
import { CHECKSUM_ALGORITHMS, type Checksum } from "./checksum.ts";
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
import { isVersioned, markDeleted, shelveObject } from "./shelve-version.ts";
import { walkKeys, type Seek, type WalkPage } from "./walk-keys.ts";

/** A bucket; `cors` is the JSON of its rules. */
export type Bucket = { readonly name: string; readonly createdMs: number; readonly cors: string | undefined };

/** A stored object without its bytes. `etag` has no quotes; `headers` are returned by GET. */
export type StoredObject = {
  readonly bucket: string;
  readonly key: string;
  readonly id: string;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly modifiedMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly checksum: Checksum | undefined;
};

/** One blob of an object; `part` is its part number (1 for an object written by one PUT). */
export type Segment = {
  readonly part: number;
  readonly blob: string;
  readonly sizeBytes: number;
  readonly checksum: string | undefined;
};

/** Ids of blobs whose files may be deleted. */
export type FreedBlobs = readonly string[];

function bucketFrom(row: Row): Bucket {
  return { name: textOf(row, "name"), createdMs: numberOf(row, "created_ms"), cors: optionalTextOf(row, "cors") };
}

/** Returns all buckets, sorted by name. */
export function listBuckets(database: Database): readonly Bucket[] {
  return allRows(database, "SELECT * FROM buckets ORDER BY name").map(bucketFrom);
}

/** Returns a bucket, or undefined. */
export function findBucket(database: Database, name: string): Bucket | undefined {
  const row = firstRow(database, "SELECT * FROM buckets WHERE name = ?", [name]);
  return row === undefined ? undefined : bucketFrom(row);
}

/** Creates a bucket unless it exists; returns which of the two happened. */
export function createBucket(database: Database, bucket: Omit<Bucket, "cors">): "created" | "existed" {
  const sql = "INSERT OR IGNORE INTO buckets (name, created_ms) VALUES (?, ?)";
  return change(database, sql, [bucket.name, bucket.createdMs]) === 1 ? "created" : "existed";
}

/** Replaces or removes the CORS rules of a bucket. */
export function setBucketCors(database: Database, name: string, cors: string | undefined): void {
  change(database, "UPDATE buckets SET cors = ? WHERE name = ?", [cors ?? null, name]);
}

/** Removes a bucket unless it holds an object, a version or an upload; returns which of the two happened. */
export function removeBucket(database: Database, name: string): "removed" | "not-empty" {
  return database.transaction(() => {
    const held =
      firstRow(database, "SELECT 1 AS held FROM objects WHERE bucket = ? LIMIT 1", [name]) ??
      firstRow(database, "SELECT 1 AS held FROM versions WHERE bucket = ? LIMIT 1", [name]) ??
      firstRow(database, "SELECT 1 AS held FROM uploads WHERE bucket = ? LIMIT 1", [name]);
    if (held !== undefined) return "not-empty";
    change(database, "DELETE FROM buckets WHERE name = ?", [name]);
    change(database, "DELETE FROM versioned WHERE bucket = ?", [name]);
    return "removed";
  });
}

function checksumFrom(row: Row): Checksum | undefined {
  const text = optionalTextOf(row, "checksum");
  if (text === undefined) return undefined;
  const [name, type, value] = text.split(" ");
  const algorithm = CHECKSUM_ALGORITHMS.find((candidate) => candidate === name);
  if (algorithm === undefined || value === undefined) return undefined;
  return { algorithm, type: type === "COMPOSITE" ? "COMPOSITE" : "FULL_OBJECT", value };
}

/** Converts a row of `objects` or `versions` to an object. */
export function objectFrom(row: Row): StoredObject {
  return {
    bucket: textOf(row, "bucket"),
    key: textOf(row, "key"),
    id: textOf(row, "id"),
    sizeBytes: numberOf(row, "size"),
    etag: textOf(row, "etag"),
    modifiedMs: numberOf(row, "modified_ms"),
    headers: headersOf(row, "headers"),
    checksum: checksumFrom(row),
  };
}

/** Returns an object, or undefined. */
export function findObject(database: Database, bucket: string, key: string): StoredObject | undefined {
  const row = firstRow(database, "SELECT * FROM objects WHERE bucket = ? AND key = ?", [bucket, key]);
  return row === undefined ? undefined : objectFrom(row);
}

/** Returns the blobs of an object, in order. */
export function segmentsOf(database: Database, objectId: string): readonly Segment[] {
  return allRows(database, "SELECT * FROM segments WHERE object_id = ? ORDER BY part", [objectId]).map((row) => ({
    part: numberOf(row, "part"),
    blob: textOf(row, "blob"),
    sizeBytes: numberOf(row, "size"),
    checksum: optionalTextOf(row, "checksum"),
  }));
}

/** Records blobs as garbage; call inside the transaction that drops them. */
export function condemn(database: Database, blobs: FreedBlobs): void {
  for (const blob of blobs) change(database, "INSERT OR IGNORE INTO garbage (blob) VALUES (?)", [blob]);
}

/** Returns all garbage records. */
export function garbageBlobs(database: Database): FreedBlobs {
  return allRows(database, "SELECT blob FROM garbage").map((row) => textOf(row, "blob"));
}

/** Removes garbage records whose files are deleted. */
export function forgetGarbage(database: Database, blobs: FreedBlobs): void {
  database.transaction(() => {
    for (const blob of blobs) change(database, "DELETE FROM garbage WHERE blob = ?", [blob]);
  });
}

/** Returns whether an object or a part uses this blob. */
export function blobIsUsed(database: Database, blob: string): "used" | "unused" {
  const row =
    firstRow(database, "SELECT 1 AS used FROM segments WHERE blob = ?", [blob]) ??
    firstRow(database, "SELECT 1 AS used FROM parts WHERE blob = ?", [blob]);
  return row === undefined ? "unused" : "used";
}

function dropObject(database: Database, bucket: string, key: string): FreedBlobs {
  if (isVersioned(database, bucket)) {
    shelveObject(database, bucket, key);
    return [];
  }
  const row = firstRow(database, "SELECT id FROM objects WHERE bucket = ? AND key = ?", [bucket, key]);
  if (row === undefined) return [];
  const id = textOf(row, "id");
  const freed = segmentsOf(database, id).map((segment) => segment.blob);
  change(database, "DELETE FROM segments WHERE object_id = ?", [id]);
  change(database, "DELETE FROM objects WHERE bucket = ? AND key = ?", [bucket, key]);
  condemn(database, freed);
  return freed;
}

/** Writes an object over any existing one with its key; call inside a transaction. Returns the freed blobs. */
export function writeObject(database: Database, object: StoredObject, segments: readonly Segment[]): FreedBlobs {
  const freed = dropObject(database, object.bucket, object.key);
  const { checksum } = object;
  change(
    database,
    "INSERT INTO objects (bucket, key, id, size, etag, modified_ms, headers, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [
      object.bucket,
      object.key,
      object.id,
      object.sizeBytes,
      object.etag,
      object.modifiedMs,
      JSON.stringify(object.headers),
      checksum === undefined ? null : `${checksum.algorithm} ${checksum.type} ${checksum.value}`,
    ],
  );
  for (const segment of segments) {
    change(database, "INSERT INTO segments (object_id, part, blob, size, checksum) VALUES (?, ?, ?, ?, ?)", [
      object.id,
      segment.part,
      segment.blob,
      segment.sizeBytes,
      segment.checksum ?? null,
    ]);
  }
  return freed;
}

/** Stores an object; returns the blobs of the one it replaced. */
export function putObject(database: Database, object: StoredObject, segments: readonly Segment[]): FreedBlobs {
  return database.transaction(() => writeObject(database, object, segments));
}

/** Deletes objects by key; missing ones are ignored. Returns the freed blobs: none in a versioned bucket. */
export function deleteObjects(
  database: Database,
  at: { readonly bucket: string; readonly nowMs: number },
  keys: readonly string[],
): FreedBlobs {
  const { bucket, nowMs } = at;
  return database.transaction(() => {
    const marks = isVersioned(database, bucket);
    return keys.flatMap((key) => {
      const freed = dropObject(database, bucket, key);
      if (marks) markDeleted(database, { bucket, key, nowMs });
      return freed;
    });
  });
}

/** The object fields that a listing shows. */
export type ObjectSummary = Pick<StoredObject, "key" | "sizeBytes" | "etag" | "modifiedMs" | "checksum">;

/** Query for one page of a listing. */
export type ListQuery = {
  readonly bucket: string;
  readonly prefix: string;
  readonly delimiter: string;
  readonly start: Seek | undefined;
  readonly limit: number;
};

const LIST_AT = "SELECT key, size, etag, modified_ms, checksum FROM objects WHERE bucket = ? AND key >= ? ORDER BY key";
const LIST_AFTER = LIST_AT.replace(">=", ">");

/** Lists one page of objects in key order. */
export function listObjects(database: Database, query: ListQuery): WalkPage<ObjectSummary> {
  const page = walkKeys<Row>({
    ...query,
    scan: (seek) => database.prepare(seek.mode === "at" ? LIST_AT : LIST_AFTER).iterate(query.bucket, seek.key),
    keyOf: (row) => textOf(row, "key"),
  });
  return {
    ...page,
    entries: page.entries.map((entry) =>
      entry.kind === "prefix" ? entry : { kind: "row", row: summaryFrom(entry.row) },
    ),
  };
}

function summaryFrom(row: Row): ObjectSummary {
  return {
    key: textOf(row, "key"),
    sizeBytes: numberOf(row, "size"),
    etag: textOf(row, "etag"),
    modifiedMs: numberOf(row, "modified_ms"),
    checksum: checksumFrom(row),
  };
}
