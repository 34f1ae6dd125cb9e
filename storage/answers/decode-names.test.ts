import { expect, test } from "vitest";
import { markerBefore, readerOfNames } from "./decode-names.ts";

const never = () => Promise.reject(new Error("asked for nothing"));
const read = async (names: string[], isThere: (key: string) => Promise<boolean> = never) =>
  names.map((await readerOfNames(names, isThere)).read);

test("a plus sign is a space where the store writes plus signs as %2B", async () => {
  expect(await read(["a+b", "c%2Bd"])).toEqual(["a b", "c+d"]);
});

test("a plus sign is one where the store writes spaces otherwise", async () => {
  expect(await read(["a+b", "c%20d"])).toEqual(["a+b", "c d"]);
  expect(await read(["a+b", "c d"])).toEqual(["a+b", "c d"]);
});

test("where the page says nothing the store is asked whether it has the name as it stands", async () => {
  const asked: string[] = [];
  const answer = (is: boolean) => (key: string) => {
    asked.push(key);
    return Promise.resolve(is);
  };
  expect(await read(["x/%C3%A9", "x/a+b"], answer(true))).toEqual(["x/é", "x/a+b"]);
  expect(await read(["x/a+b"], answer(false))).toEqual(["x/a b"]);
  expect(asked).toEqual(["x/a+b", "x/a+b"]);
  expect(await read(["x/a", "x/b"])).toEqual(["x/a", "x/b"]);
});

test("a name that is not valid UTF-8 is none, and the others are read", async () => {
  expect(await read(["caf%E9", "caf%C3%A9"])).toEqual([null, "café"]);
});

test("a listing that ended with such a name goes on behind every valid name before it, and before all that follow", () => {
  const bytes = (text: string, ...more: number[]) => Buffer.concat([Buffer.from(text), Buffer.from(more)]);
  const names = [
    bytes("p/caf", 0xe9),
    bytes("p/", 0xff, 0x61),
    bytes("", 0x80),
    bytes("日", 0xe6, 0x97),
    bytes("a", 0xed, 0xa0),
  ];
  for (const name of names) {
    const marker = Buffer.from(markerBefore(name));
    expect(Buffer.compare(marker, name)).toBe(-1);
    const before = [
      "p/caf",
      "p/cafz",
      "p/caf\u{8fff}z",
      "p/~",
      "p/\u{10fffd}z",
      "\u007fz",
      "日",
      "日\u65d6z",
      "a\ud7ffz",
    ].map((text) => Buffer.from(text));
    for (const valid of before) if (Buffer.compare(valid, name) < 0) expect(Buffer.compare(valid, marker)).toBe(-1);
  }
});
