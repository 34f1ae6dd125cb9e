import { expect, test } from "vitest";
import type { BucketRow } from "./folder-pages.ts";
import { isStoreOrder, sortRows } from "./sort-rows.ts";

const object = (key: string, sizeBytes: number, modifiedAt: number): BucketRow => ({
  kind: "object",
  key,
  sizeBytes,
  modifiedAt,
  etag: "e",
  storageClass: null,
});
const ROWS: BucketRow[] = [object("a", 5, 30), { kind: "folder", key: "b/" }, object("c", 9, 10), object("d", 1, 20)];
const keys = (rows: readonly BucketRow[]): string => rows.map(({ key }) => key).join(" ");

test("sizes and dates begin with the largest and the newest, folders of unknown size first either way", () => {
  expect(keys(sortRows(ROWS, { sort: "size", order: "" }))).toBe("b/ c a d");
  expect(keys(sortRows(ROWS, { sort: "size", order: "reversed" }))).toBe("b/ d a c");
  expect(keys(sortRows(ROWS, { sort: "date", order: "" }))).toBe("b/ a d c");
});

test("a folder that was summed up stands by its size", () => {
  expect(keys(sortRows(ROWS, { sort: "size", order: "" }, () => 7))).toBe("c b/ a d");
  expect(keys(sortRows(ROWS, { sort: "size", order: "reversed" }, () => 0))).toBe("b/ d a c");
});

test("names go both ways, and only from A as the store has them", () => {
  expect(keys(sortRows(ROWS, { sort: "name", order: "reversed" }))).toBe("d c b/ a");
  expect(isStoreOrder({ sort: "name", order: "" })).toBe(true);
  expect(isStoreOrder({ sort: "name", order: "reversed" })).toBe(false);
});
