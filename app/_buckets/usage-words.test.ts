import { expect, test } from "vitest";
import { costBasis, dateOf, daySentence, growthCost, keptPerDay, moneyOf, versionsMissing } from "./usage-words.ts";

const GB = 1e9;
const at = Date.UTC(2026, 10, 22);
const day = (keptBytes: number, index = 0) => ({
  from: at + index,
  cameBytes: 2 * keptBytes,
  keptBytes,
  checkpoints: 1,
});

test("little money is not nothing, and nothing is", () => {
  expect(moneyOf(0.001, "USD")).toBe("under 0.01 USD");
  expect(moneyOf(0, "USD")).toBe("0.00 USD");
  expect(moneyOf(1234.5, "EUR")).toBe("1,234.50 EUR");
});

test("says that old versions are not in the numbers where the bucket keeps them", () => {
  expect(versionsMissing(true)).toContain(
    "The bucket keeps old versions: deleted objects may still be stored and cost money.",
  );
  expect(versionsMissing("some")).toContain("until versioning was suspended");
  expect([versionsMissing(false), versionsMissing(null)]).toEqual([null, null]);
});

test("growth is that of the days the bucket has been there", () => {
  const all = [...Array.from({ length: 28 }, () => day(0)), day(10), day(20)];
  const moved = { upBytes: 0, downBytes: 0, writes: 0, reads: 0 };
  expect(keptPerDay({ days: all, moved: { ...moved, days: 2 } })).toBe(15);
  expect(keptPerDay({ days: all, moved: { ...moved, days: 30 } })).toBe(1);
});

test("says what each further month adds, and of which prices all this is", () => {
  const cost = { storage: 1, egress: 0, requests: 0, total: 1, freeDownBytes: 0, source: null };
  const priced = { ...cost, currency: "USD", perGbMonth: 0.02, hasOwnPrices: true };
  expect(growthCost(10 * GB, priced)).toBe("each further month 6.00 USD more");
  expect(growthCost(1, priced)).toBeNull();
  const usage = {
    at,
    stored: { bytes: 0, objects: 0, checkpoints: 0, trashedBytes: 0 },
    runs: [],
    others: { runs: 0, bytes: 0, objects: 0 },
    days: [],
    moved: { days: 1, upBytes: 0, downBytes: 0, writes: 0, reads: 0 },
  };
  expect(costBasis({ ...usage, cost: priced })).toContain("By the prices in this profile");
  expect(costBasis({ ...usage, cost: priced })).toContain("at the pace of the last day");
  expect(costBasis({ ...usage, cost: { ...priced, hasOwnPrices: false } })).toContain("the provider's list prices");
});

test.each(["Europe/Berlin", "America/Santiago", "Asia/Kathmandu"])(
  "where clocks change (%s) each day of the growth has a date of its own",
  (zone) => {
    const before = process.env.TZ;
    process.env.TZ = zone;
    try {
      for (const first of [Date.UTC(2026, 9, 20), Date.UTC(2026, 2, 20), Date.UTC(2026, 8, 1)]) {
        const dates = Array.from({ length: 30 }, (_, index) => dateOf(first + index * 86_400_000));
        expect(new Set(dates).size).toBe(30);
        // The hub sums up days of UTC.
        expect(Number.parseInt(dates[0] ?? "", 10)).toBe(new Date(first).getUTCDate());
      }
    } finally {
      if (before === undefined) delete process.env.TZ;
      else process.env.TZ = before;
    }
  },
);

test("a day says what came and what is left of it", () => {
  expect(daySentence(day(1024 ** 3))).toBe("22 Nov: 2.0 GiB came, 1.0 GiB of 1 checkpoint still there");
});
