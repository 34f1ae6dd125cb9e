import { describe, expect, it } from "vitest";
import type { Result } from "./results.ts";
import { benchmarksPage } from "./write-markdown.ts";

const result: Result = {
  case: "wan-120",
  direction: "up",
  date: "2026-02-03T04:05:06.000Z",
  commit: "abc1234",
  command: "npm run bench -- wan-120 --save",
  machine: {
    cpu: "some processor",
    cores: 2,
    memoryGib: 4,
    kernel: "6.1",
    loadBefore: 0.1,
    node: "24.0.0",
    server: "minio 1",
    congestion: "cubic",
  },
  bytes: 300_000_000,
  files: 1,
  tools: [
    { name: "tidemark", title: "**Tidemark**", role: "own", setup: "default", version: "1", inFlight: null },
    {
      name: "sdk",
      title: "AWS SDK (JS)",
      role: "peer",
      setup: "10 x 10 MB",
      version: "3",
      inFlight: { parts: 10, partBytes: 10_000_000, files: 1 },
    },
  ],
  missing: { aria2: "aria2c is not on the PATH" },
  runs: [
    { tool: "tidemark", round: 1, failure: null, wallSeconds: 20, cpuSeconds: 0.6, peakRssKib: 100_000 },
    { tool: "sdk", round: 1, failure: "exit code 1: no", wallSeconds: 30, cpuSeconds: 3, peakRssKib: 250_000 },
  ],
};

describe("the page", () => {
  const page = benchmarksPage([result]);

  it("tells share of the link, CPU, memory and failures of each tool", () => {
    expect(page).toContain("| **Tidemark** | 0.800 | 20.00 (20.00 to 20.00) | 2.00 | 102 |");
    expect(page).toContain("1 of 1 |");
    expect(page).toContain("AWS SDK (JS) failed: exit code 1: no");
  });

  it("tells how much a tool holds that keeps whole parts", () => {
    expect(page).toContain("10 x 10 MB x 1 = 100 MB");
  });

  it("tells which bar was missed, which tool was not there, and how to measure it again", () => {
    expect(page).toContain("**not met**: share of the link >= 0.9,");
    expect(page).toContain("aria2 was not measured: aria2c is not on the PATH");
    expect(page).toContain("npm run bench -- wan-120 --save");
    expect(page).toContain("2 cores of some processor");
  });
});
