import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  blobIsUsed,
  deleteObjects,
  findObject,
  garbageBlobs,
  listObjects,
  putObject,
  type ListQuery,
  type StoredObject,
} from "./catalog-objects.ts";
import { openDatabase, type Database } from "./database.ts";

const MANY = 1_000_000;

/** A million keys in a thousand folders, written straight into the table. */
function fill(database: Database): void {
  database.transaction(() =>
    database
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY - 1})
         INSERT INTO objects (bucket, key, id, size, etag, modified_ms, headers)
         SELECT 'many', printf('run-%03d/step-%06d', i / 1000, i), printf('%x', i), i, 'e', 0, '{}' FROM n`,
      )
      .run(),
  );
}

describe("a bucket with a million keys", () => {
  let database: Database;
  beforeAll(() => {
    database = openDatabase(":memory:", "process-kill");
    fill(database);
  });
  afterAll(() => database.close());
  const list = (asked: Partial<ListQuery>) =>
    listObjects(database, { bucket: "many", prefix: "", delimiter: "", start: undefined, limit: 1000, ...asked });

  it("gives any page for the rows on it and one more", () => {
    for (const key of ["", "run-500/step-500123", "run-998/"]) {
      const page = list({ start: { key, mode: "after" } });
      expect(page.entries.length).toBe(1000);
      expect(page.rowsVisited).toBe(1001);
    }
  });

  it("folds a thousand folders with one look at each", () => {
    const page = list({ delimiter: "/" });
    expect(page.entries.length).toBe(1000);
    expect(page.truncated).toBe("end");
    expect(page.rowsVisited).toBeLessThanOrEqual(1001);
  });

  it("finds a narrow prefix without looking around it", () => {
    const page = list({ prefix: "run-777/step-77712" });
    expect(page.entries.length).toBe(10);
    expect(page.rowsVisited).toBeLessThanOrEqual(11);
    expect(list({ prefix: "nothing/" }).rowsVisited).toBeLessThanOrEqual(1);
  });

  it("is searched through the index, never scanned or sorted", () => {
    const plan = database
      .prepare("EXPLAIN QUERY PLAN SELECT key FROM objects WHERE bucket = ? AND key >= ? ORDER BY key")
      .all("many", "");
    expect(plan.map((row) => String(row["detail"]))).toEqual([
      expect.stringMatching(/^SEARCH objects USING PRIMARY KEY \(bucket=\? AND key>\?\)$/),
    ]);
  });
});

describe("objects in the index", () => {
  const object = (key: string, id: string): StoredObject => ({
    bucket: "b",
    key,
    id,
    sizeBytes: 3,
    etag: "e",
    modifiedMs: 1,
    headers: { "content-type": "x/y" },
    checksum: { algorithm: "CRC32", type: "FULL_OBJECT", value: "AAAA" },
  });
  const segment = (blob: string) => ({ part: 1, blob, sizeBytes: 3, checksum: undefined });

  it("come back as they were put, and free their blobs when replaced or deleted", () => {
    const database = openDatabase(":memory:", "process-kill");
    expect(putObject(database, object("k", "1"), [segment("blob-1")])).toEqual([]);
    expect(findObject(database, "b", "k")).toEqual(object("k", "1"));
    expect(putObject(database, object("k", "2"), [segment("blob-2")])).toEqual(["blob-1"]);
    expect(blobIsUsed(database, "blob-1")).toBe("unused");
    expect(blobIsUsed(database, "blob-2")).toBe("used");
    expect(deleteObjects(database, { bucket: "b", nowMs: 1 }, ["k", "missing"])).toEqual(["blob-2"]);
    expect(findObject(database, "b", "k")).toBeUndefined();
    expect(garbageBlobs(database)).toEqual(["blob-1", "blob-2"]);
    database.close();
  });
});
