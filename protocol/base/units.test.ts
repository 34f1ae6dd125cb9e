import { describe, expect, test } from "vitest";
import { Fault } from "../faults/fault.ts";
import { formatBytes, formatCount, formatDuration, formatEta, formatRate } from "./units.ts";
import { parseDuration, parseRate, parseSize } from "../wire/read-units.ts";

test.each([
  [0, "0"],
  [999, "999"],
  [4_500, "4,500"],
  [-12_345_678, "-12,345,678"],
  [1_234.5678, "1,234.568"],
])("the count %s is written %s", (count, text) => {
  expect(formatCount(count)).toBe(text);
  expect(text).toBe(new Intl.NumberFormat("en-US").format(count));
});

describe("sizes", () => {
  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 KiB"],
    [640 * 1024 ** 2, "640 MiB"],
    [3.1 * 1024 ** 3, "3.1 GiB"],
    [1023.9 * 1024 ** 2, "1.0 GiB"],
  ])("%d bytes are written %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  test.each([
    ["4096", 4096],
    ["64MiB", 64 * 1024 ** 2],
    ["64Mi", 64 * 1024 ** 2],
    ["100M", 100_000_000],
    ["1.5 GB", 1_500_000_000],
    ["0", 0],
  ])("%s is read as %d", (text, bytes) => expect(parseSize(text)).toBe(bytes));

  test.each(["", "12 apples", "-1", "1e9", "9999P"])("%j is refused as a size", (text) => {
    expect(() => parseSize(text)).toThrow(Fault);
  });
});

describe("rates", () => {
  test("are bits by default and bytes on request", () => {
    expect(formatRate(4_775_000)).toBe("38.2 Mbps");
    expect(formatRate(41_000_000, "bytes")).toBe("41.0 MB/s");
    expect(formatRate(0)).toBe("0 bps");
  });

  test.each([
    ["20Mbit", 2_500_000],
    ["50 Mbps", 6_250_000],
    ["1Gbit/s", 125_000_000],
    ["2.5MB/s", 2_500_000],
    ["2MiB", 2_097_152],
    ["800 kbit", 100_000],
    ["300B/s", 300],
  ])("%s is read as %d bytes per second", (text, bytes) => expect(parseRate(text)).toBe(bytes));

  test.each(["20", "20M", "20Mb", "20mb/s", "fast", "-1Mbit"])("%j is refused as a rate: bits or bytes?", (text) => {
    expect(() => parseRate(text)).toThrow("20Mbit");
  });
});

describe("durations", () => {
  test.each([
    [0, "0 s"],
    [48_000, "48 s"],
    [6 * 60_000, "6 min"],
    [80 * 60_000, "1 h 20 min"],
    [76 * 3_600_000, "3 d 4 h"],
  ])("%d ms are written %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

  test.each([
    ["90", 90_000],
    ["1h30m", 5_400_000],
    ["500ms", 500],
    ["2d", 172_800_000],
  ])("%s is read as %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

  test("a duration without a unit that is known is refused", () => {
    expect(() => parseDuration("5 fortnights")).toThrow(Fault);
  });

  test("an unknown time left is said by saying nothing, never by infinity", () => {
    expect(formatEta(null)).toBeNull();
    expect(formatEta(Number.POSITIVE_INFINITY)).toBeNull();
    expect(formatEta(400)).toBe("1 s left");
    expect(formatEta(360_000)).toBe("about 6 min left");
  });
});
