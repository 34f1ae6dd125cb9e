import { expect, test } from "vitest";
import { estimateCost } from "./estimate-cost.ts";

const amounts = { bytes: 8e9, reads: 2_000 };

test("a restore costs what the provider's list says of its bytes and of its reads", () => {
  expect(estimateCost({ provider: "aws", prices: null }, amounts)).toEqual({
    currency: "USD",
    egress: 0.72,
    requests: 0.0008,
    total: 0.7208,
    free: { gb: 100, timesStored: 0 },
  });
  expect(estimateCost({ provider: "r2", prices: null }, amounts)).toMatchObject({
    egress: 0,
    requests: 0.00072,
    free: null,
  });
});

test("prices of the profile come before the list, and then nothing is said of what is free", () => {
  const prices = JSON.stringify({ egressPerGb: 0.05, storagePerGbMonth: null, per1000Requests: null });
  expect(estimateCost({ provider: "aws", prices }, amounts)).toMatchObject({
    egress: 0.4,
    requests: 0.0008,
    free: null,
  });
});

test("a store of one's own costs nothing that could be told, unless its profile says so", () => {
  expect(estimateCost({ provider: "minio", prices: null }, amounts)).toBeNull();
  const prices = JSON.stringify({ egressPerGb: null, storagePerGbMonth: null, per1000Requests: 0.01 });
  expect(estimateCost({ provider: "minio", prices }, amounts)).toMatchObject({ egress: 0, requests: 0.02 });
});
