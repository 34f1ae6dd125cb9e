import { expect, test } from "vitest";
import { tideShares } from "./tide-shares.ts";

test("shares are proportional to the bytes", () => {
  expect(tideShares({ safe: 50, moving: 25, waiting: 25 })).toEqual({ safe: 0.5, moving: 0.25, waiting: 0.25 });
});

test("a sliver at risk beside terabytes that are safe is still drawn", () => {
  const shares = tideShares({ safe: 1e12, moving: 0, waiting: 1 });
  expect(shares.waiting).toBeGreaterThan(0.02);
  expect(shares.safe + shares.waiting).toBeCloseTo(1);
});

test("nothing gives an empty gauge and negative amounts count as nothing", () => {
  expect(tideShares({ safe: 0, moving: 0, waiting: 0 })).toEqual({ safe: 0, moving: 0, waiting: 0 });
  expect(tideShares({ safe: -5, moving: 10, waiting: 0 })).toEqual({ safe: 0, moving: 1, waiting: 0 });
});
