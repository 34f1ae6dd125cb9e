import { describe, expect, it } from "vitest";
import { compareRates, compareRtts } from "./compare-rates.ts";
import type { EngineName } from "#protocol/benchmarks/engines.ts";
import { countFailures } from "./count-failures.ts";
import { emulatedFleet } from "./emulated-fleet.ts";
import { readExport, type ExportedCase } from "./exported-cases.ts";
import { rankEngines, standingOf } from "./rank-engines.ts";
import { percentile, recount } from "./recount.ts";

const HEAD =
  "at,node,node_region,profile,bucket_region,rtt_ms,engine,direction,round,bytes,took_ms,load_ms,bytes_per_second,peak_memory_bytes,fault";
const AT = Date.parse("2026-01-01T00:00:00.000Z");
const row = (given: Partial<ExportedCase>): ExportedCase => ({
  atMs: AT,
  node: "node-01",
  nodeRegion: "north-america",
  store: "us-east",
  storeRegion: "us-east",
  rttMs: 40,
  engine: "sdk",
  direction: "up",
  tookMs: 1_000,
  loadMs: null,
  bytesPerSecond: 1_000_000,
  fault: null,
  ...given,
});

describe("an export", () => {
  it("is read row by row, and what failed has no rate", () => {
    const text = `\ufeff${HEAD}\r\n2026-01-01T00:00:00.000Z,node-01,europe,us-east,us-east,41.5,sdk,down,1,1000,2000,300,500,,\r\n2026-01-01T00:00:01.000Z,node-01,europe,us-east,us-east,,rclone,up,1,1000,10,,,,ACCESS_DENIED\r\n`;
    expect(readExport(text)).toEqual([
      row({ nodeRegion: "europe", rttMs: 41.5, direction: "down", tookMs: 2000, loadMs: 300, bytesPerSecond: 500 }),
      row({
        atMs: AT + 1000,
        nodeRegion: "europe",
        rttMs: null,
        engine: "rclone",
        tookMs: 10,
        bytesPerSecond: null,
        fault: "ACCESS_DENIED",
      }),
    ]);
  });

  it("with a column missing, or an engine nobody knows, is refused", () => {
    expect(() => readExport("at,node\r\n2026-01-01,one")).toThrow('no "engine"');
    expect(() => readExport(`${HEAD}\r\n2026-01-01,n,r,p,b,1,curl,up,1,1,1,,1,,`)).toThrow('"curl"');
  });
});

describe("what was told of a link", () => {
  const fleet = emulatedFleet({ nodes: 1, seed: 1 });
  const link = fleet[0]?.links["us-east"] ?? { rttMs: 0, upMbit: 0, downMbit: 0, lossPercent: 0 };
  const bytes = 10_000_000;
  const raw = [3, 2.5].map((seconds) => ({ node: "node-01", store: "us-east", direction: "up", seconds }) as const);
  const truth = bytes / (2.5 + (3 * link.rttMs) / 1000);
  const check = (rates: (number | null)[]) =>
    compareRates(
      rates.map((bytesPerSecond) => row({ bytesPerSecond })),
      { fleet, raw, bytes },
    );

  it("is the best case of the link, beside the fastest plain TCP and the round trips of S3", () => {
    const [found] = check([truth * 0.5, truth * 0.95, null]);
    expect(found?.share).toBeCloseTo(0.95, 9);
    expect(found?.truthMbit).toBeCloseTo((truth * 8) / 1e6, 9);
    expect(found?.linkShare).toBeCloseTo((truth * 0.95 * 8) / 1e6 / (link.upMbit * 0.965), 9);
  });

  it.each([
    [0.89, false],
    [0.91, true],
    [1.09, true],
    [1.11, false],
  ])("at %s of the truth agrees: %s", (share, agrees) => {
    expect(check([truth * share])[0]?.agrees).toBe(agrees);
  });

  it("is left out where nothing moved or nothing is known", () => {
    expect(check([null])).toEqual([]);
    expect(compareRates([row({})], { fleet, raw: [], bytes })).toEqual([]);
  });

  it("of round trips may be a tenth off, or what a handshake takes", () => {
    const of = (rttMs: number | null) => compareRtts([row({ rttMs })], fleet)[0]?.agrees;
    expect(of(link.rttMs + 4.9)).toBe(true);
    expect(of(link.rttMs * 1.2)).toBe(false);
    expect(of(null)).toBeUndefined();
  });
});

describe("the ranking", () => {
  const rows = [
    row({ engine: "rclone", bytesPerSecond: 10 }),
    row({ engine: "boto3", bytesPerSecond: 20 }),
    row({ engine: "sdk", bytesPerSecond: 30 }),
    row({ engine: "tidemark", bytesPerSecond: 40 }),
    row({ engine: "sdk", bytesPerSecond: null }),
  ];

  const [all] = rankEngines(rows, new Set());
  /** With some engines at other rates. */
  const standing = (rates: Partial<Record<EngineName, number>>) => {
    const [ranking] = rankEngines(
      rows.map((one) => ({ ...one, bytesPerSecond: rates[one.engine] ?? one.bytesPerSecond })),
      new Set(),
    );
    return ranking === undefined ? null : standingOf(ranking);
  };

  it("is the guide's when its three tools stand in its order, whatever else was measured", () => {
    expect(all?.means.map(({ engine }) => engine)).toEqual(["tidemark", "sdk", "boto3", "rclone"]);
    expect(all?.order).toEqual(["rclone", "boto3", "sdk"]);
    expect(standing({})).toBe("same");
  });

  it("says where it differs, and who is slowest all the same", () => {
    expect(standing({ boto3: 35 })).toBe("slowest is");
    expect(standing({ rclone: 90 })).toBe("another");
  });

  it("takes two that are hardly apart for side by side, and no others", () => {
    expect(standing({ boto3: 30.5 })).toBe("tied");
    expect(standing({ boto3: 31 })).toBe("slowest is");
    expect(standing({ boto3: 30.5, rclone: 40 })).toBe("another");
  });

  it("is made apart for links that lose packets", () => {
    const lossy = rows.map((one) => ({ ...one, node: "node-02", bytesPerSecond: 1 }));
    const means = (links: string) =>
      rankEngines([...rows, ...lossy], new Set(["node-02"]))
        .filter((one) => one.links === links && one.nodeRegion === "" && one.direction === "up")
        .map((one) => one.means[0]?.mbit);
    expect(means("with loss")).toEqual([(1 * 8) / 1e6]);
    expect(means("without loss")).toEqual([(40 * 8) / 1e6]);
  });

  it("is made for each distance, the nearest first", () => {
    const far = rows.map((one) => ({ ...one, nodeRegion: "europe", rttMs: 119 }));
    const distances = rankEngines([...far, ...rows], new Set()).filter(({ nodeRegion }) => nodeRegion !== "");
    expect(distances.map(({ nodeRegion }) => nodeRegion)).toEqual([
      "north-america",
      "north-america",
      "europe",
      "europe",
    ]);
  });
});

describe("tables counted again", () => {
  const rows = [
    row({ node: "a", engine: "sdk", bytesPerSecond: 30 }),
    row({ node: "a", engine: "rclone", bytesPerSecond: 20 }),
    row({ node: "b", engine: "sdk", bytesPerSecond: null, fault: "THROTTLED" }),
    row({ node: "b", engine: "rclone", bytesPerSecond: 10 }),
  ];
  const engine = (name: "sdk" | "rclone", about: { failed: number; mean: number; share: number }) => ({
    engine: name,
    direction: "up" as const,
    cases: 2,
    failed: about.failed,
    meanBytesPerSecond: about.mean,
    p50BytesPerSecond: about.mean,
    bestShare: about.share,
  });
  const told = {
    casesDone: 4,
    casesFailed: 1,
    summary: {
      maxima: { up: { count: 2, mean: 20, p10: 12, p50: 20, p90: 28 }, down: null },
      engines: [
        engine("sdk", { failed: 1, mean: 30, share: 0.5 }),
        engine("rclone", { failed: 0, mean: 15, share: 0.5 }),
      ],
    },
    overall: { up: { cases: 4, failed: 1, mean: 20 }, down: { cases: 0, failed: 0, mean: null } },
    regions: [{ nodeRegion: "north-america", storeRegion: "us-east", turns: 1, rttMs: 40, up: 20, down: null }],
    asymmetry: null,
  };
  const wrong = (given: typeof told) => recount(rows, given).filter(({ agrees }) => !agrees);

  it("agree with a page that is right", () => {
    expect(wrong(told)).toEqual([]);
    expect(recount(rows, told).length).toBeGreaterThan(20);
  });

  it("find each number that is not", () => {
    const maxima = { ...told.summary.maxima, up: { ...told.summary.maxima.up, p90: 29 } };
    expect(wrong({ ...told, summary: { ...told.summary, maxima } })).toEqual([
      { what: "maximum up, P90", told: 29, counted: 28, agrees: false },
    ]);
    expect(wrong({ ...told, casesFailed: 0 }).map(({ what }) => what)).toEqual(["cases that failed"]);
    const [, rclone] = told.summary.engines;
    const engines = [engine("sdk", { failed: 1, mean: 30, share: 1 }), ...(rclone === undefined ? [] : [rclone])];
    expect(wrong({ ...told, summary: { ...told.summary, engines } }).map(({ what }) => what)).toEqual([
      "sdk up, share of the best",
    ]);
  });

  it("have percentiles between ranks", () => {
    expect(percentile([], 50)).toBeNull();
    expect(percentile([7], 90)).toBe(7);
    expect(percentile([4, 1, 3, 2], 90)).toBeCloseTo(3.7, 12);
  });
});

describe("failures counted from the store's side", () => {
  const turns = [{ id: "turn-1", nodeName: "node-01", profileName: "us-east" }];
  const count = (rows: ExportedCase[], requests: Parameters<typeof countFailures>[1]["requests"]) =>
    countFailures(rows, { store: "us-east", requests, turns });
  const failing = { bytesPerSecond: null, fault: "ACCESS_DENIED" };

  it("give an upload's requests to the engine that its key names", () => {
    const rows = [row({ ...failing }), row({ engine: "rclone" })];
    const requests = [
      { atMs: AT, key: "bench/turn-1/x/sdk-1", kind: "final" as const },
      { atMs: AT, key: "bench/turn-1/x/rclone-1", kind: "temporary" as const },
      { atMs: AT, key: "bench/turn-9/x/rclone-1", kind: "temporary" as const },
    ];
    expect(count(rows, requests)).toEqual([
      expect.objectContaining({ engine: "sdk", failed: 1, met: 1, survived: 0, withoutCause: 0, final: 1 }),
      expect.objectContaining({ engine: "rclone", failed: 0, met: 1, survived: 1, withoutCause: 0, temporary: 1 }),
    ]);
  });

  it("give a download's requests to the case that ran then", () => {
    const rows = [
      row({ direction: "down", engine: "boto3", atMs: AT + 2_000 }),
      row({ direction: "down", engine: "sdk", atMs: AT + 9_000, ...failing }),
      row({ direction: "up", engine: "rclone", atMs: AT + 4_000 }),
    ];
    const requests = [{ atMs: AT + 6_000, key: "bench/turn-1/x/reference", kind: "final" as const }];
    const found = count(rows, requests);
    expect(found.find(({ engine }) => engine === "sdk")).toMatchObject({ met: 1, failed: 1, withoutCause: 0 });
    expect(found.find(({ engine }) => engine === "boto3")).toMatchObject({ met: 0 });
  });

  it("name a case that failed though the store let none of its requests fail", () => {
    expect(count([row({ ...failing })], [])[0]).toMatchObject({ failed: 1, met: 0, withoutCause: 1 });
  });

  it("leave the other stores out", () => {
    expect(count([row({ store: "us-west" })], [])).toEqual([]);
  });
});
