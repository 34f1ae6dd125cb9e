import { expect, test } from "vitest";
import { columnsOf, NODE_COLUMNS, USUAL_COLUMNS, withColumn } from "./node-columns.ts";

const keys = (text: string | null) => columnsOf(text).map(({ key }) => key);

test("without a choice the usual columns are shown, and the name and the state always", () => {
  expect(columnsOf(null)).toEqual(USUAL_COLUMNS);
  expect(keys("")).toEqual(["node", "state"]);
  expect(keys("<script> cpu")).toEqual(["node", "cpu", "state"]);
});

test("a column comes where it belongs, and goes again", () => {
  const more = withColumn(null, "disk");
  expect(keys(more)).toEqual([
    ...USUAL_COLUMNS.map(({ key }) => key).filter((key) => key !== "state"),
    "disk",
    "state",
  ]);
  expect(keys(withColumn(more, "tide"))).not.toContain("tide");
  expect(withColumn(more, "disk")).toBeNull();
});

test("every column can be chosen or is always there", () => {
  const all = NODE_COLUMNS.map(({ key }) => key).join(" ");
  expect(keys(all)).toHaveLength(NODE_COLUMNS.length);
  expect(new Set(NODE_COLUMNS.map(({ name }) => name)).size).toBe(NODE_COLUMNS.length);
});
