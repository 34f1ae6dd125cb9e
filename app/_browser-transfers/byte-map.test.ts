import { expect, test } from "vitest";
import { byteMap, percentOf, type Stretch } from "./byte-map.ts";

const MIB = 1024 ** 2;
const done = (bytes: number): Stretch => ({ bytes, doneBytes: bytes, isMoving: false });
const count = (map: string, sign: string): number => map.split(sign).length - 1;

test("small files that have arrived are next to nothing beside a large one that has not", () => {
  const small = Array.from({ length: 39 }, () => done(15 * 1024));
  const map = byteMap([...small, { bytes: 150 * MIB, doneBytes: 0, isMoving: true }]);
  expect(map).toBe(`>${".".repeat(199)}`);
  expect(percentOf(585 * 1024, 151 * MIB)).toBe(0);
});

test("half of the bytes are half of the map, whatever they are cut into", () => {
  for (const cut of [1, 3, 7, 5000]) {
    const halves = Array.from({ length: cut }, () => [done(MIB), { bytes: MIB, doneBytes: 0, isMoving: false }]).flat();
    const ordered = halves.toSorted((a, b) => b.doneBytes - a.doneBytes);
    expect(count(byteMap(ordered), "#"), `${cut} stretches`).toBe(100);
  }
});

test("a map is whole only when every byte has arrived", () => {
  expect(byteMap([done(999), { bytes: 1, doneBytes: 0, isMoving: false }])).not.toMatch(/^#+$/);
  expect(byteMap([done(999), done(1)])).toMatch(/^#{200}$/);
  expect(byteMap([done(0), done(3)])).toBe("###");
  expect(byteMap([done(0)])).toBe("");
  expect([percentOf(999_999, 1_000_000), percentOf(5, 5), percentOf(0, 0)]).toEqual([99, 100, 0]);
});

test("each stretch that moves shows where it is", () => {
  const moving = { bytes: 100, doneBytes: 50, isMoving: true };
  expect(count(byteMap([moving, moving]), ">")).toBe(2);
});
