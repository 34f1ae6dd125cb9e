import { expect, test } from "vitest";
import { createUplink } from "./uplink.ts";

test("is the rate of uploads that were long enough to tell", () => {
  const uplink = createUplink();
  uplink.add(900_000_000, 900);
  uplink.add(1_000, 60_000);
  expect(uplink.bytesPerSecond()).toBe(0);
  uplink.add(100_000_000, 10_000);
  expect(uplink.bytesPerSecond()).toBe(10_000_000);
});

test("follows an uplink that became slower", () => {
  const uplink = createUplink();
  for (let count = 0; count < 20; count++) uplink.add(100_000_000, 10_000);
  for (let count = 0; count < 20; count++) uplink.add(100_000_000, 100_000);
  expect(uplink.bytesPerSecond()).toBeGreaterThan(1_000_000);
  expect(uplink.bytesPerSecond()).toBeLessThan(1_200_000);
});
