import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { metricRows, readExposition } from "#protocol/base/read-exposition.ts";
import { runName } from "#protocol/base/names.ts";
import { NO_RISK } from "#protocol/wire/risk.ts";
import type { LocalStatus } from "#protocol/local-api/local.ts";
import { metricsOf } from "./write-metrics.ts";

const status: LocalStatus = {
  pending: 2,
  error: null,
  node: "gpu-1",
  version: "0",
  hub: { url: "http://hub", isUp: true },
  at: 90_001,
  store: null,
  upBytesPerSecond: 5,
  downBytesPerSecond: 0,
  rttMs: null,
  transfers: [],
  aside: [],
  runs: [
    {
      run: runName.parse("llama"),
      writerEpoch: 1,
      unsafeCheckpoints: 2,
      unsafeFiles: 4,
      unsafeBytes: 600,
      movedBytes: 100,
      oldestUnsafeAt: 1,
      safeStep: null,
      safeAt: null,
      safeBytes: 300,
      localStep: 20,
      localAt: 1,
      startedAt: 0,
      intervalMs: 60_000,
      trainedStep: 25,
      trainedAt: 2,
      idleMs: 0,
      leastIntervalMs: 90_000,
      risk: { ...NO_RISK, lossMs: 1_500, steps: 20 },
      etaMs: 100_000,
      isHeld: false,
      sustain: { leastIntervalMs: 90_000, bytesPerSecond: 5, canSustain: false },
    },
  ],
};

test("is text that Prometheus reads: each metric with its help and type, what is not known left out", () => {
  const text = metricsOf(status);
  expect(text).toContain("# TYPE tidemark_worker_pending gauge\ntidemark_worker_pending 2\n");
  expect(text).toContain('tidemark_worker_unsafe_bytes{run="llama"} 600');
  expect(text).toContain('tidemark_worker_at_risk_oldest_age_seconds{run="llama"} 90\n');
  expect(text).toContain('tidemark_worker_at_risk_seconds{run="llama"} 1.5');
  expect(text).toContain('tidemark_worker_drain_seconds{run="llama"} 100');
  expect(text).toContain('tidemark_worker_least_interval_seconds{run="llama"} 90');
  expect(text).not.toContain("store_rtt");
  expect(text).not.toContain("safe_step{");
  expect(readExposition(text).every(({ name }) => name.startsWith("tidemark_worker_"))).toBe(true);
});

test("docs/metrics.md names every metric of the worker, as it is", () => {
  const [run] = status.runs;
  if (run === undefined) throw new Error("no run");
  const whole = { ...status, rttMs: 20, runs: [{ ...run, safeStep: 10 }] };
  const page = readFileSync(join(import.meta.dirname, "../../docs/metrics.md"), "utf8");
  const told = /<!-- worker -->\n\n\|.*\n\|.*\n((?:\|.*\n)+)/.exec(page)?.[1];
  expect(told).toBe(metricRows(readExposition(metricsOf(whole))));
});
