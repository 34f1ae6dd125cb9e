import { describe, expect, it } from "vitest";
import type { Result, Run } from "./results.ts";
import { compare, judge, median, summarize } from "./summarize.ts";

const LINK = { link: { rttMs: 10, upMbit: 80, downMbit: 160 } };
/** 10 MB at 80 Mbit/s need one second. */
const BYTES = 10_000_000;

const run = (tool: string, round: number, given: Partial<Run> = {}): Run => ({
  tool,
  round,
  failure: null,
  wallSeconds: 2,
  cpuSeconds: 0.01,
  peakRssKib: 1000,
  ...given,
});

const tool = (name: string, role: "own" | "peer" | "ceiling"): Result["tools"][number] => ({
  name,
  title: name,
  role,
  setup: "",
  version: "1",
  inFlight: null,
});

const resultOf = (runs: Run[]): Result => ({
  case: "wan-120",
  direction: "up",
  date: "2026-01-01T00:00:00.000Z",
  commit: "abc",
  command: "npm run bench",
  machine: {
    cpu: "x",
    cores: 2,
    memoryGib: 4,
    kernel: "6",
    loadBefore: 0,
    node: "24",
    server: "minio",
    congestion: "cubic",
  },
  bytes: BYTES,
  files: 1,
  tools: [tool("tidemark", "own"), tool("slow", "peer"), tool("quick", "peer"), tool("raw", "ceiling")],
  missing: {},
  runs,
});

const rounds = (name: string, count: number, given: Partial<Run>): Run[] =>
  Array.from({ length: count }, (_, index) => run(name, index + 1, given));

describe("the median", () => {
  it("is the middle, or lies between the two middle values", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([])).toBeNull();
  });
});

describe("a summary", () => {
  it("counts failed runs and leaves them out of the medians", () => {
    const result = resultOf([
      run("tidemark", 1, { wallSeconds: 1.25 }),
      run("tidemark", 2, { wallSeconds: 0.1, failure: "the file has other bytes" }),
    ]);
    const [own] = summarize(result, LINK);
    expect(own).toMatchObject({ runs: 2, failures: ["the file has other bytes"], wallSeconds: 1.25, linkShare: 0.8 });
  });

  it("takes the highest memory of all runs, and CPU per GB of what was moved", () => {
    const result = resultOf([
      run("tidemark", 1, { peakRssKib: 1000 }),
      run("tidemark", 2, { peakRssKib: 3000 }),
      run("tidemark", 3, { peakRssKib: 2000 }),
    ]);
    const [own] = summarize(result, LINK);
    expect(own?.peakRssMb).toBeCloseTo(3.072);
    expect(own?.cpuPerGb).toBeCloseTo(1);
  });

  it("leaves out a tool that cannot do this case", () => {
    expect(summarize(resultOf([run("raw", 1)]), LINK).map((summary) => summary.tool.name)).toEqual(["raw"]);
  });
});

describe("the bars", () => {
  const judged = (runs: Run[]) => {
    const comparison = compare(summarize(resultOf(runs), LINK));
    if (comparison === null) throw new Error("Tidemark is among the runs");
    return judge(comparison, { linkShare: 0.9, wallOfBestPeer: 1, cpuOfBestPeer: 0.7 }).map(({ met }) => met);
  };

  it("are judged against the fastest peer for time and the thriftiest for CPU", () => {
    const runs = [
      run("tidemark", 1, { wallSeconds: 1.1, cpuSeconds: 0.02 }),
      run("slow", 1, { wallSeconds: 3, cpuSeconds: 0.03 }),
      run("quick", 1, { wallSeconds: 1.2, cpuSeconds: 0.09 }),
    ];
    expect(judged(runs)).toEqual([true, true, true]);
    expect(judged([...runs.slice(1), run("tidemark", 1, { wallSeconds: 1.3, cpuSeconds: 0.025 })])).toEqual([
      false,
      false,
      false,
    ]);
  });

  it("take what plain TCP reached for the link only when enough runs say so", () => {
    const pair = (count: number): Run[] => [
      ...rounds("tidemark", count, { wallSeconds: 1.5 }),
      ...rounds("raw", count, { wallSeconds: 1.47 }),
    ];
    expect(judged(pair(3))[0]).toBe(false);
    expect(judged(pair(7))[0]).toBe(true);
  });

  it("stay open without a peer to judge by", () => {
    expect(judged([run("tidemark", 1)]).slice(1)).toEqual([null, null]);
  });
});
