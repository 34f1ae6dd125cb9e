import { NO_RISK } from "../wire/risk.ts";
import type { NodeRow, NodeRunView } from "../wire/views.ts";

/** Rows for tests: an online node with nothing at risk, and a run with one safe checkpoint. */

export const nodeRow = (over: Partial<NodeRow> = {}): NodeRow => ({
  id: over.name ?? "node-0001",
  name: over.id ?? "gpu-7",
  state: "online",
  lastSeenAt: 0,
  enrolledAt: 0,
  fleet: "default",
  identity: null,
  mayWrite: null,
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

export const nodeRunView = (over: Partial<NodeRunView> = {}): NodeRunView => ({
  run: "llama",
  writerEpoch: 1,
  isWriter: true,
  localStep: 3,
  localAt: 0,
  safeStep: 1,
  safeAt: 0,
  safeBytes: 0,
  movedBytes: 0,
  intervalMs: null,
  leastIntervalMs: null,
  work: "safe",
  risk: NO_RISK,
  ...over,
});
