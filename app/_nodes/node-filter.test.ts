import { expect, test } from "vitest";
import { NO_RISK } from "#protocol/risk.ts";
import type { NodeRow } from "#protocol/views.ts";
import { matchesWords, parseNodeFilter, passesFilter } from "./node-filter.ts";

const node = (over: Partial<NodeRow>): NodeRow => ({
  id: "node-0001",
  name: "gpu-7",
  state: "online",
  lastSeenAt: 0,
  enrolledAt: 0,
  fleet: "default",
  identity: null,
  tokenId: null,
  profileId: null,
  profileName: "training-eu",
  facts: {
    hostname: "h1",
    platform: "linux",
    cpus: 8,
    memoryBytes: 0,
    gpu: "RTX 4090",
    labels: { region: "us-east" },
    machineId: null,
    workerVersion: "1",
  },
  work: "safe",
  runs: [],
  risk: NO_RISK,
  safeBytes: 0,
  movedBytes: 0,
  upBytesPerSecond: 0,
  downBytesPerSecond: 0,
  rttMs: null,
  disk: null,
  cpuPercent: null,
  activeTransfers: 0,
  upHistory: [],
  ...over,
});

test("revoked nodes are seen only when asked for", () => {
  expect(passesFilter(node({ state: "revoked" }), "all")).toBe(false);
  expect(passesFilter(node({ state: "revoked" }), "revoked")).toBe(true);
  expect(passesFilter(node({ state: "revoked", work: "risk" }), "risk")).toBe(false);
});

test("a silent node with work not safe is both silent and at risk", () => {
  const silent = node({ state: "silent", work: "lost" });
  expect(passesFilter(silent, "silent")).toBe(true);
  expect(passesFilter(silent, "risk")).toBe(true);
});

test("words are looked for in name, GPU, labels and profile, all of them", () => {
  expect(matchesWords(node({}), "4090 us-EAST")).toBe(true);
  expect(matchesWords(node({}), "4090 us-west")).toBe(false);
});

test("an unknown filter in the address means all", () => {
  expect(parseNodeFilter("<script>")).toBe("all");
  expect(parseNodeFilter("silent")).toBe("silent");
});
