import { describe, expect, it } from "vitest";
import { leastIntervalMs } from "#protocol/history/sustain.ts";
import { findAll } from "./advise.ts";
import { findBestBucket } from "./find-best-bucket.ts";
import { findBestSizes } from "./find-best-sizes.ts";
import { findIntervals, type WrittenRun } from "./find-intervals.ts";
import { NOW, noise, rows } from "#server/testing/made-rows.ts";
import { medianOf, quantileOf, superiorityOf } from "#protocol/base/robust.ts";
import { spreadRates } from "./spread-rates.ts";

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;

describe("the best bucket of a region", () => {
  /** `count` nodes, three uploads each. */
  const nodes = (
    first: number,
    about: { count: number; profileId: string; up: number; down?: number; region?: string },
  ) =>
    Array.from({ length: about.count }, (_, index) => first + index).flatMap((node) =>
      rows(3, (at) => {
        const { profileId, region: nodeRegion = "eu" } = about;
        const up = about.up * (1 + 0.2 * noise(node * 7 + at));
        const probe = { kind: "probe" as const, outcome: "accept", down: about.down ?? 50e6 };
        return { node, profileId, nodeRegion, up, ...(about.down === undefined ? {} : probe) };
      }),
    );

  it("is one that takes more than what most use, by nodes of that region alone", () => {
    const history = [
      ...nodes(1, { count: 9, profileId: "east", up: 10e6 }),
      ...nodes(20, { count: 5, profileId: "frankfurt", up: 20e6 }),
      ...nodes(40, { count: 9, profileId: "oregon", up: 80e6, region: "us-west" }),
    ];
    expect(findBestBucket(history)).toMatchObject([
      {
        kind: "best-bucket",
        region: "eu",
        profileId: "east",
        betterId: "frankfurt",
        nodes: 14,
        samples: 42,
        least: 20,
      },
    ]);
  });

  it("is found by benchmarks that had both, of nodes that use one of them alone", () => {
    const east = nodes(1, { count: 6, profileId: "east", up: 90e6 });
    const cases = (profileId: string, up: number, benchmark: number) =>
      nodes(1, { count: 6, profileId, up }).map((one) => ({ ...one, benchmark }));
    const both = [...cases("east", 10e6, 1), ...cases("frankfurt", 20e6, 1)];
    const [found] = findBestBucket([...east, ...both]);
    expect(found).toMatchObject({ profileId: "east", betterId: "frankfurt", samples: 36, ofBenchmarks: 36, nodes: 12 });
    expect(found?.facts[0]?.value).toBeLessThan(15e6);
    // Never the cases of one beside the transfers of the other, nor those of two benchmarks.
    expect(findBestBucket([...east, ...cases("frankfurt", 200e6, 1)])).toEqual([]);
    expect(findBestBucket([...east, ...cases("east", 10e6, 1), ...cases("frankfurt", 20e6, 2)])).toEqual([]);
    // Nobody uses any of them yet.
    expect(findBestBucket(both)).toEqual([]);
    // What transfers say comes first.
    const frankfurt = nodes(20, { count: 5, profileId: "frankfurt", up: 60e6 });
    expect(findBestBucket([...east, ...frankfurt, ...both])).toEqual([]);
  });

  it("is not said of four nodes, of a little more, of what is slow down, or where nobody knows the region", () => {
    const east = nodes(1, { count: 9, profileId: "east", up: 10e6, down: 50e6 });
    const other = (about: { count?: number; up?: number; down?: number }) =>
      nodes(20, { count: 6, profileId: "frankfurt", up: 20e6, down: 50e6, ...about });
    expect(findBestBucket([...east, ...other({})])).toHaveLength(1);
    expect(findBestBucket([...east, ...other({ count: 4 })])).toEqual([]);
    expect(findBestBucket([...east, ...other({ up: 11e6 })])).toEqual([]);
    expect(findBestBucket([...east, ...other({ down: 20e6 })])).toEqual([]);
    expect(findBestBucket([...east, ...other({})].map((one) => ({ ...one, nodeRegion: "" })))).toEqual([]);
  });
});

describe("the best part size and number of connections", () => {
  /** Nodes of very different speed, each with uploads of two settings. */
  const history = (about: { factor: number; each: number; nodes?: number; sizeBytes?: number }) =>
    Array.from({ length: about.nodes ?? 4 }, (_, index) => index + 1).flatMap((node) =>
      rows(about.each * 3, (at) => {
        const isOther = at % 3 === 0;
        const { sizeBytes = 1024 * MIB } = about;
        const up = 4 ** node * 1e6 * (isOther ? about.factor : 1) * (1 + 0.1 * noise(node * 31 + at));
        return { node, up, sizeBytes, connections: 8, partBytes: (isOther ? 64 : 16) * MIB };
      }),
    );

  it("is what goes faster than what most use on the same node, although nodes differ by far more", () => {
    expect(findBestSizes(history({ factor: 1.5, each: 6 }))).toMatchObject([
      { kind: "part-size", profileId: "east", better: { partBytes: 64 * MIB }, samples: 72, least: 40, nodes: 4 },
    ]);
    const byConnections = history({ factor: 1.5, each: 6 }).map((one) => ({
      ...one,
      partBytes: 16 * MIB,
      connections: one.partBytes === 64 * MIB ? 31 : 8,
    }));
    expect(findBestSizes(byConnections)).toMatchObject([{ kind: "connections", better: { connections: 32 } }]);
  });

  it("is not said of a tenth, of small files, of nineteen uploads or of two nodes", () => {
    expect(findBestSizes(history({ factor: 1.1, each: 6 }))).toEqual([]);
    expect(findBestSizes(history({ factor: 1.5, each: 6, sizeBytes: 32 * MIB }))).toEqual([]);
    expect(findBestSizes(history({ factor: 1.5, each: 4 }))).toEqual([]);
    expect(findBestSizes(history({ factor: 1.5, each: 20, nodes: 2 }))).toEqual([]);
  });
});

describe("where the transfers of a bucket are all alike, the best part size and number of connections", () => {
  const cases = (about: { factor: number; nodes?: number; each?: number; more?: (isOther: boolean) => object }) =>
    Array.from({ length: about.nodes ?? 4 }, (_, index) => index + 1).flatMap((node) =>
      rows((about.each ?? 6) * 2, (at) => {
        const isOther = at % 2 === 0;
        const effective = 4 ** node * 1e6 * (isOther ? about.factor : 1) * (1 + 0.1 * noise(node * 31 + at));
        const settings = { connections: 8, partBytes: (isOther ? 64 : 16) * MIB, ...about.more?.(isOther) };
        return { node, effective, sizeBytes: 1024 * MIB, benchmark: Number(isOther), ...settings };
      }),
    );
  const alike = (count: number, partBytes: number) =>
    rows(count, (at) => ({ node: 1 + (at % 4), up: 5e6, sizeBytes: 1024 * MIB, connections: 8, partBytes }));

  it("is what benchmarks found it to be, among cases of a node that differ in nothing else", () => {
    const [found] = findBestSizes([...alike(40, 16 * MIB), ...cases({ factor: 1.5 })]);
    expect(found).toMatchObject({ kind: "part-size", better: { partBytes: 64 * MIB }, samples: 48, ofBenchmarks: 48 });
    expect(found?.facts[0]).toEqual({ label: "most used", value: 16 * MIB, as: "bytes" });
    const [tried] = findBestSizes(cases({ factor: 1.5 }));
    expect(tried?.facts[0]).toEqual({ label: "tried most", value: 16 * MIB, as: "bytes" });
    const byConnections = cases({
      factor: 1.5,
      more: (isOther) => ({ partBytes: MIB, connections: isOther ? 32 : 8 }),
    });
    expect(findBestSizes(byConnections)).toMatchObject([{ kind: "connections", better: { connections: 32 } }]);
  });

  it("is not said where what is used was not tried, or both settings differed at once, or the transfers tell otherwise", () => {
    expect(findBestSizes([...alike(3, 32 * MIB), ...cases({ factor: 1.5 })])).toEqual([]);
    expect(findBestSizes(cases({ factor: 1.5, more: (isOther) => ({ connections: isOther ? 32 : 8 }) }))).toEqual([]);
    const told = [...alike(40, 16 * MIB), ...alike(40, 64 * MIB)];
    expect(findBestSizes([...told, ...cases({ factor: 1.5 })])).toEqual([]);
    expect(findBestSizes(cases({ factor: 1.02 }))).toEqual([]);
    expect(findBestSizes(cases({ factor: 1.5, each: 4 }))).toEqual([]);
    expect(findBestSizes(cases({ factor: 1.5, nodes: 2, each: 20 }))).toEqual([]);
  });
});

describe("an interval that cannot be sustained", () => {
  const run = (changes: Partial<WrittenRun> = {}): WrittenRun => ({
    nodeId: "node-1",
    profileId: "east",
    run: "llama",
    intervalMs: 10 * MINUTE_MS,
    checkpointBytes: 6e9,
    waitingBytes: 12e9,
    rates: [4e6, 5e6, 90e6],
    ...changes,
  });

  it("is found by what its last uploads usually reached, with how often it could save and how fast the wait grows", () => {
    const [found] = findIntervals([run()]);
    const needed = leastIntervalMs(6e9, 5e6) ?? 0;
    const step = 5 * MINUTE_MS;
    expect(found?.facts.map(({ value }) => value)).toEqual([
      10 * MINUTE_MS,
      6e9,
      5e6,
      Math.ceil(needed / step) * step,
      12e9,
      6e9 / 600 - 5e6,
    ]);
    expect(found).toMatchObject({ kind: "interval", node: "node-1", run: "llama", samples: 3, least: 3 });
  });

  it("is not one that is sustained, not known, or drawn from two uploads", () => {
    expect(findIntervals([run({ rates: [20e6, 20e6, 20e6] })])).toEqual([]);
    expect(findIntervals([run({ intervalMs: null })])).toEqual([]);
    expect(findIntervals([run({ checkpointBytes: 0 })])).toEqual([]);
    expect(findIntervals([run({ rates: [1e6, 1e6] })])).toEqual([]);
  });
});

describe("what transfers of a fleet reach", () => {
  it("is the usual of each node's last five, slowest first, a probe counting nine tenths", () => {
    const history = [
      ...rows(9, (at) => ({ node: 1, effective: at < 4 ? 90e6 : 3e6 })),
      ...rows(1, () => ({ node: 2, effective: 1e6 })),
      ...rows(2, () => ({ node: 3, kind: "probe", outcome: "accept", up: 2e6 })),
      ...rows(1, () => ({ node: 4, effective: 9e6 })),
      ...rows(1, () => ({ node: 5, effective: 8e6, outcome: "failed" })),
      ...rows(1, () => ({ node: 6, effective: 7e6 })),
    ];
    expect(spreadRates(history, "up")).toEqual({
      rates: [1e6, 1.8e6, 3e6, 7e6, 9e6],
      nodes: 5,
      samples: 9,
      ofBenchmarks: 0,
      least: 5,
    });
  });

  it("is that of their cases in benchmarks where they have moved no checkpoint, first those with Tidemark's own settings", () => {
    const moved = (node: number, rate: number) => rows(1, () => ({ node, effective: rate }));
    const probed = (node: number) => rows(1, () => ({ node, kind: "probe", outcome: "accept", up: 50e6 }));
    const cases = (
      count: number,
      about: { node: number; effective: number; partBytes?: number; profileId?: string; isUsed?: boolean },
    ) => rows(count, () => ({ benchmark: 1, ...about }));
    const history = [
      ...moved(1, 5e6),
      ...cases(9, { node: 1, effective: 90e6 }),
      ...cases(2, { node: 2, effective: 8e6 }),
      ...cases(9, { node: 2, effective: 70e6, partBytes: 10e6 }),
      ...probed(2),
      ...cases(7, { node: 3, effective: 6e6, partBytes: 10e6 }),
      ...probed(3),
      ...moved(4, 4e6),
      ...moved(5, 3e6),
      // To buckets that they were only compared at.
      ...cases(5, { node: 4, effective: 900e6, profileId: "west", isUsed: false }),
      ...cases(5, { node: 9, effective: 900e6, profileId: "west", isUsed: false }),
    ];
    expect(spreadRates(history, "up")).toEqual({
      rates: [3e6, 4e6, 5e6, 6e6, 8e6],
      nodes: 5,
      samples: 10,
      ofBenchmarks: 7,
      least: 5,
    });
  });

  it("says nothing of four nodes, and thins out a thousand without moving their percentiles", () => {
    expect(
      spreadRates(
        rows(4, (node) => ({ node, effective: 1e6 })),
        "up",
      ),
    ).toMatchObject({ rates: [], nodes: 4 });
    const many = spreadRates(
      rows(1000, (node) => ({ node, effective: (node + 1) * 1e3 })),
      "up",
    );
    expect(many).toMatchObject({ nodes: 1000 });
    expect(many.rates).toHaveLength(101);
    expect(quantileOf(many.rates, 0.5)).toBeCloseTo(500_500, 0);
    expect(quantileOf(many.rates, 0.1)).toBeCloseTo(100_900, 0);
  });
});

describe("an empty or plain history", () => {
  it("has nothing to say", () => {
    expect(findAll([], NOW)).toEqual([]);
    const plain = Array.from({ length: 20 }, (_, node) => node).flatMap((node) =>
      rows(60, (at) => ({
        node,
        nodeRegion: "eu",
        profileId: node % 2 === 0 ? "east" : "frankfurt",
        kind: at % 2 === 0 ? "upload" : "download",
        up: at % 2 === 0 ? 10e6 * (1 + 0.3 * noise(node * 61 + at)) : null,
        down: at % 2 === 0 ? null : 30e6 * (1 + 0.3 * noise(node * 61 + at)),
        rttMs: 40,
        burstRate: 10e6,
        lateRate: 9e6,
        sizeBytes: 1024 * MIB,
        partBytes: (at % 4 < 2 ? 16 : 64) * MIB,
        connections: 8,
      })),
    );
    expect(findAll(plain, NOW)).toEqual([]);
  });
});

describe("robust statistics", () => {
  it("agree with what is counted by hand", () => {
    expect(medianOf([3, 1, 2])).toBe(2);
    expect(quantileOf([0, 10], 0.25)).toBe(2.5);
    expect(medianOf([])).toBeNaN();
    expect(superiorityOf([2, 3], [1, 2])).toBe(0.875);
    expect(superiorityOf([1], [])).toBe(0.5);
    const [these, those] = [
      [5, 1, 4, 4],
      [4, 2, 9],
    ];
    const wins = these.flatMap((a) => those.map((b): number => (a > b ? 1 : a === b ? 0.5 : 0)));
    expect(superiorityOf(these, those)).toBeCloseTo(wins.reduce((sum, win) => sum + win, 0) / 12, 12);
  });
});
