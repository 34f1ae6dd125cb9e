/** Fills a bucket with empty objects, written directly to the index. */
import { change, type Database } from "./database.ts";

/** Number of empty objects under a prefix: `PREFIX0000000.bin` and so on. */
export type Fill = { readonly prefix: string; readonly count: number };

/** Parses `PREFIX:COUNT`; undefined when it is invalid. */
export function readFill(text: string): Fill | undefined {
  const [, prefix, digits] = /^(.*):([1-9]\d{0,6})$/s.exec(text) ?? [];
  return prefix === undefined || digits === undefined ? undefined : { prefix, count: Number(digits) };
}

const SQL = `
INSERT OR IGNORE INTO objects (bucket, key, id, size, etag, modified_ms, headers)
WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?)
SELECT ?, ? || printf('%07d.bin', n), 'fill-' || ? || n, 0, 'd41d8cd98f00b204e9800998ecf8427e', ?,
  '{"content-type":"application/octet-stream"}' FROM numbers`;

/** Adds the objects; existing objects stay unchanged. */
export function fillBucket(database: Database, at: { bucket: string; fill: Fill; modifiedMs: number }): void {
  const { bucket, fill, modifiedMs } = at;
  change(database, SQL, [fill.count, bucket, fill.prefix, fill.prefix, modifiedMs]);
}
