import { expect, test } from "vitest";
import { keepPlaces } from "./keep-places.ts";

const list = (over: Partial<Parameters<typeof keepPlaces>[0]>) =>
  keepPlaces({ before: [], moving: [], ended: new Set(), most: Infinity, ...over });

test("what begins comes at the end, in the order in which it began", () => {
  expect(list({ before: ["a"], moving: ["a", "b", "c"] })).toEqual(["a", "b", "c"]);
});

test("what has just ended keeps its place until another one takes it", () => {
  const ended = new Set(["b"]);
  expect(list({ before: ["a", "b", "c"], moving: ["a", "c"], ended })).toEqual(["a", "b", "c"]);
  expect(list({ before: ["a", "b", "c"], moving: ["a", "c", "d", "e"], ended })).toEqual(["a", "d", "c", "e"]);
});

test("what ended a while ago leaves, and its place is filled before that of one that has just ended", () => {
  expect(list({ before: ["a", "b", "c"], moving: ["c"] })).toEqual(["c"]);
  expect(list({ before: ["a", "b", "c"], moving: ["c", "d"], ended: new Set(["a"]) })).toEqual(["a", "d", "c"]);
});

test("what ended without having been in the list does not come into it", () => {
  expect(list({ before: ["a"], moving: ["a"], ended: new Set(["x"]) })).toEqual(["a"]);
});

test("a short list takes what waits behind it when a place is free", () => {
  expect(list({ moving: ["a", "b", "c"], most: 2 })).toEqual(["a", "b"]);
  expect(list({ before: ["a", "b"], moving: ["b", "c", "d"], ended: new Set(["a"]), most: 2 })).toEqual(["c", "b"]);
});
