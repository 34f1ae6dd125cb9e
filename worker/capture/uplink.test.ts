import { expect, test } from "vitest";
import { createUplink as create, type UplinkParts } from "./uplink.ts";

const createUplink = (parts: Partial<UplinkParts> = {}) =>
  create({ running: () => null, before: () => null, ...parts });

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

test("before an upload ended it is the rate of the one that runs, as soon as that tells something", () => {
  const running = { sentBytes: 0, tookMs: 60_000 };
  const uplink = createUplink({ running: () => running, before: () => 7_000_000 });
  expect(uplink.bytesPerSecond()).toBe(7_000_000);
  running.sentBytes = 120_000_000;
  expect(uplink.bytesPerSecond()).toBe(2_000_000);
  running.tookMs = 2_000;
  expect(uplink.bytesPerSecond()).toBe(7_000_000);
  uplink.add(100_000_000, 10_000);
  running.tookMs = 60_000;
  expect(uplink.bytesPerSecond()).toBe(10_000_000);
});
