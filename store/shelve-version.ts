/**
 * Preserves replaced objects of a versioned bucket: the old object's row, or a delete marker. Call these functions inside
 * the transaction of the change.
 */
import { randomBytes } from "node:crypto";
import { change, firstRow, type Database } from "./database.ts";

/** Returns whether the bucket has versioning enabled. */
export function isVersioned(database: Database, bucket: string): boolean {
  return firstRow(database, "SELECT 1 AS found FROM versioned WHERE bucket = ?", [bucket]) !== undefined;
}

const ROW = "bucket, key, id, size, etag, modified_ms, headers, checksum";

/** Moves the newest object of a key to its old versions; does nothing if there is none. */
export function shelveObject(database: Database, bucket: string, key: string): void {
  const shelve = `INSERT INTO versions (${ROW}, marker) SELECT ${ROW}, 0 FROM objects WHERE bucket = ? AND key = ?`;
  change(database, shelve, [bucket, key]);
  change(database, "DELETE FROM objects WHERE bucket = ? AND key = ?", [bucket, key]);
}

/** Adds a delete marker for a key. Returns the marker's version id. */
export function markDeleted(database: Database, at: { bucket: string; key: string; nowMs: number }): string {
  const id = randomBytes(16).toString("hex");
  const mark = `INSERT INTO versions (${ROW}, marker) VALUES (?, ?, ?, 0, '', ?, '{}', NULL, 1)`;
  change(database, mark, [at.bucket, at.key, id, at.nowMs]);
  return id;
}

/** Makes the newest old version of a key its object again, unless it is a delete marker or the key has an object. */
export function raiseNewest(database: Database, bucket: string, key: string): void {
  if (firstRow(database, "SELECT 1 AS found FROM objects WHERE bucket = ? AND key = ?", [bucket, key]) !== undefined)
    return;
  const newest = "SELECT seq FROM versions WHERE bucket = ? AND key = ? ORDER BY seq DESC LIMIT 1";
  const row = firstRow(database, newest, [bucket, key]);
  const seq = row?.["seq"];
  if (typeof seq !== "number") return;
  const raised = `INSERT INTO objects (${ROW}) SELECT ${ROW} FROM versions WHERE seq = ? AND marker = 0`;
  if (change(database, raised, [seq]) === 1) change(database, "DELETE FROM versions WHERE seq = ?", [seq]);
}
