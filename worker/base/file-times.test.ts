import { describe, expect, test } from "vitest";
import { createFileTimes, type FileTimes } from "./file-times.ts";

const [NFS, EXT4] = [0x6969, 0xef53];
const SECOND = 1_000_000_000n;
const AT = 1_800_000_000n * SECOND + 345_678_901n;
const fileAt = (ns: bigint, over: { sizeBytes?: number; dev?: string; ino?: string } = {}) => ({
  dev: "1",
  ino: "2",
  sizeBytes: 10,
  mtimeNs: String(ns),
  ...over,
});
const before = fileAt(AT);
const timesOn = (type: number): FileTimes => createFileTimes(() => type);
const isSame = (times: FileTimes, ns: bigint, of = before) => times.isSame(fileAt(ns), of, "/data/a");

describe("on a disk of another machine", () => {
  test("a time that goes back by up to 2 s is that of the same bytes, and from then on one that goes forth", () => {
    const times = timesOn(NFS);
    expect(isSame(times, AT + SECOND)).toBe(false);
    expect(isSame(times, AT - SECOND)).toBe(true);
    expect(times.wobbles(before)).toBe(true);
    expect(isSame(times, AT + SECOND)).toBe(true);
  });

  test.each([
    ["1 s", AT - (AT % SECOND)],
    ["2 s", AT - (AT % (2n * SECOND))],
  ])("a time that was rounded to %s is that of the same bytes", (_, rounded) => {
    expect(isSame(timesOn(NFS), AT, fileAt(rounded))).toBe(true);
  });

  test("a time that differs by more, or another size, is a change", () => {
    const times = timesOn(NFS);
    times.expectWobble();
    expect(isSame(times, AT + 3n * SECOND)).toBe(false);
    expect(isSame(times, AT - 3n * SECOND)).toBe(false);
    expect(times.isSame(fileAt(AT - 1n, { sizeBytes: 11 }), before, "/data/a")).toBe(false);
    expect(isSame(times, AT + SECOND)).toBe(true);
  });

  test("a disk that a person says wobbles is taken as that from the first look, and no other one", () => {
    const times = createFileTimes((path) => (path.startsWith("/nfs") ? NFS : EXT4));
    times.expectWobble();
    expect(times.isSame(fileAt(AT + 1n), before, "/nfs/a")).toBe(true);
    const here = { dev: "7" };
    expect(times.isSame(fileAt(AT + 1n, here), fileAt(AT, here), "/disk/a")).toBe(false);
  });

  test("the first time that was told of a file stands for all that wobble around it, until it is written", () => {
    const times = timesOn(NFS);
    const told = (ns: bigint) => BigInt(times.steady(fileAt(ns), "/data/a").mtimeNs);
    expect(told(AT)).toBe(AT);
    expect([told(AT - SECOND), told(AT + SECOND), told(AT)]).toEqual([AT, AT, AT]);
    const later = AT + 9n * SECOND;
    expect([told(later), told(later - 1n)]).toEqual([later, later]);
    expect(BigInt(times.steady(fileAt(AT, { ino: "3" }), "/data/a").mtimeNs)).toBe(AT);
  });
});

test("on a disk of this machine every difference is a change", () => {
  const times = timesOn(EXT4);
  times.expectWobble();
  expect([isSame(times, AT - 1n), isSame(times, AT + 1n), isSame(times, AT)]).toEqual([false, false, true]);
  expect(times.steady(fileAt(AT - 1n), "/a").mtimeNs).toBe(String(AT - 1n));
});

test("a disk that cannot be asked what it is keeps its times", () => {
  const times = createFileTimes(() => {
    throw new Error("ENOENT");
  });
  expect(isSame(times, AT - 1n)).toBe(false);
});
