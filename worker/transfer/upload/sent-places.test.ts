import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { SentPlaces } from "./sent-places.ts";

test("each of very many is found where it was put, and no other", () => {
  const places = new SentPlaces();
  const keyOf = (index: number) => `run/é-${index}`;
  const kept = new Map<number, number>();
  for (let index = 0; index < 20_000; index++) {
    const isNew = !kept.has(crc32(keyOf(index)));
    expect(places.put(keyOf(index), { fileAt: index, sentAt: 2 ** 31 + index })).toBe(isNew);
    if (isNew) kept.set(crc32(keyOf(index)), index);
  }
  for (let index = 0; index < 20_000; index++) {
    const fileAt = kept.get(crc32(keyOf(index)));
    expect(places.find(keyOf(index))).toEqual({ fileAt, sentAt: 2 ** 31 + (fileAt ?? 0) });
  }
  expect(places.put("far", { fileAt: 0, sentAt: 2 ** 32 })).toBe(false);
  expect(places.find("another")).toBeNull();
});

test("a key whose sum another one has is not put, and finds that of the other", () => {
  // A known pair of one CRC32.
  expect(crc32("plumless")).toBe(crc32("buckeroo"));
  const places = new SentPlaces();
  expect(places.put("plumless", { fileAt: 0, sentAt: 1 })).toBe(true);
  expect(places.put("buckeroo", { fileAt: 2, sentAt: 3 })).toBe(false);
  expect(places.find("buckeroo")).toEqual({ fileAt: 0, sentAt: 1 });
});
