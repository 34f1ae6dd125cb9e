import { expect, test } from "vitest";
import { beside } from "../object-copy/listing/beside.ts";
import { mapRows, numbered, pickRows, placesOf, stretchesOf } from "./rows.ts";

const letters = ["a", "b", "c", "d", "e"];

test("rows are made when they are looked at", () => {
  const asked: string[] = [];
  const loud = mapRows(letters, (letter) => {
    asked.push(letter);
    return letter.toUpperCase();
  });
  expect(loud).toHaveLength(5);
  expect(asked).toEqual([]);
  expect([loud.at(1), loud.at(5)]).toEqual(["B", undefined]);
  expect(asked).toEqual(["b"]);
  expect([...loud]).toEqual(["A", "B", "C", "D", "E"]);
});

test("some of them are a list of their own", () => {
  const some = pickRows(
    letters,
    placesOf(letters, (letter) => letter > "b"),
  );
  expect([...some]).toEqual(["c", "d", "e"]);
  expect([some.length, some.at(0), some.at(2), some.at(3)]).toEqual([3, "c", "e", undefined]);
});

test("they come with their places, and in stretches", () => {
  expect([...numbered(["a", "b"])]).toEqual([
    [0, "a"],
    [1, "b"],
  ]);
  expect([...stretchesOf(letters, 2)]).toEqual([["a", "b"], ["c", "d"], ["e"]]);
  expect([...stretchesOf(letters, 5)]).toEqual([letters]);
  expect([...stretchesOf([], 5)]).toEqual([]);
});

test("each is laid beside that of the same name", () => {
  const named = (names: string) => names.split("").map((relative) => ({ relative }));
  const twins = (one: string, other: string) =>
    [...beside(named(one), named(other))].map(([row, twin]) => row.relative + (twin?.relative ?? "-")).join(" ");
  expect(twins("bdf", "abcdg")).toBe("bb dd f-");
  expect(twins("aab", "abb")).toBe("aa aa bb");
  expect([twins("ab", ""), twins("", "ab")]).toEqual(["a- b-", ""]);
});
