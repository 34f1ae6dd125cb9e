import { expect, test } from "vitest";
import { versionsPlace, wantedOf, whyNotShare } from "./read-selection.ts";
import type { Selection } from "./selection.ts";

const of = (...rows: [string, number | null][]): Selection => ({ chosen: new Map(rows), anchor: 0 });
const AT = { profileId: "p", from: "a/" };

test("a download is of what is ticked and of nothing else", () => {
  expect(wantedOf(of(["a/1.txt", 3]), AT)).toEqual({ kind: "object", profileId: "p", key: "a/1.txt" });
  expect(wantedOf(of(["a/1.txt", 3], ["a/deep/", null]), AT)).toEqual({
    kind: "chosen",
    ...AT,
    keys: ["a/1.txt"],
    prefixes: ["a/deep/"],
  });
});

test("links are for objects, and not for more than a person hands on", () => {
  expect(whyNotShare(of(["a/1.txt", 3], ["a/2.txt", 3]))).toBeNull();
  expect(whyNotShare(of(["a/deep/", null]))).toContain("folders");
  expect(whyNotShare(of(...Array.from({ length: 21 }, (_, at): [string, number] => [`${at}`, 1])))).toContain("20");
});

test("older versions are those of one object, wherever it was found, or of one folder", () => {
  expect(versionsPlace(of(["a/deep/1.txt", 3]))).toMatchObject({
    folder: "a/deep/",
    filter: "1.txt",
    show: "versions",
  });
  expect(versionsPlace(of(["a/deep/", null]))).toMatchObject({ folder: "a/deep/", filter: "" });
  expect(versionsPlace(of(["a/1", 3], ["a/2", 3]))).toBeNull();
});
