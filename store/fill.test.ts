import { expect, it } from "vitest";
import { createBucket, findObject, listObjects } from "./catalog-objects.ts";
import { openDatabase } from "./database.ts";
import { fillBucket, readFill } from "./fill.ts";

it("makes a bucket of any size at once, listed and found like what was sent", () => {
  const database = openDatabase(":memory:", "process-kill");
  createBucket(database, { name: "b", createdMs: 1 });
  const fill = readFill("a:b/:2500");
  expect(fill).toEqual({ prefix: "a:b/", count: 2500 });
  if (fill === undefined) return;
  fillBucket(database, { bucket: "b", fill, modifiedMs: 5 });
  fillBucket(database, { bucket: "b", fill, modifiedMs: 9 });
  expect(findObject(database, "b", "a:b/0002499.bin")).toMatchObject({ sizeBytes: 0, modifiedMs: 5 });
  expect(findObject(database, "b", "a:b/0002500.bin")).toBeUndefined();
  const page = listObjects(database, { bucket: "b", prefix: "a:b/00", delimiter: "", start: undefined, limit: 1000 });
  expect([page.entries.length, page.truncated]).toEqual([1000, "more"]);
  database.close();
});
