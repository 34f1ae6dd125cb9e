import { describe, expect, it } from "vitest";
import { findAsymmetric } from "./find-asymmetric.ts";
import { findDegrading } from "./find-degrading.ts";
import { findFar } from "./find-far.ts";
import { findThrottled } from "./find-throttled.ts";
import { NOW, noise, row, rows } from "#server/testing/made-rows.ts";

const factsOf = (found: readonly { facts: readonly { label: string; value: number }[] }[]) =>
  found.map(({ facts }) => Object.fromEntries(facts.map(({ label, value }) => [label, value])));

describe("a throttled link", () => {
  const burst = (burstRate: number, lateRate: number) => ({ effective: 3e6, burstRate, lateRate });

  it("is found when most transfers end far slower than they began, with both rates", () => {
    const history = rows(10, (index) => (index < 2 ? burst(10e6, 9e6) : burst(10e6, 2e6)));
    expect(findThrottled(history)).toMatchObject([
      { kind: "throttled", node: 1, profileId: "east", way: "up", samples: 10, least: 5 },
    ]);
    expect(factsOf(findThrottled(history))).toEqual([
      { "first seconds": 10e6, "last quarter": 2e6, "transfers that show it": 0.8 },
    ]);
  });

  it("is not what ends as it began, seldom shows it, failed, or was seen four times", () => {
    expect(findThrottled(rows(10, () => burst(10e6, 9e6)))).toEqual([]);
    expect(findThrottled(rows(10, (index) => (index < 5 ? burst(10e6, 2e6) : burst(10e6, 9e6))))).toEqual([]);
    expect(findThrottled(rows(10, () => ({ ...burst(10e6, 2e6), outcome: "failed" })))).toEqual([]);
    expect(findThrottled(rows(4, () => burst(10e6, 2e6)))).toEqual([]);
    expect(findThrottled(rows(10, () => ({ effective: 5e6 })))).toEqual([]);
  });

  it("is told apart by direction and by node", () => {
    const history = [
      ...rows(5, () => ({ ...burst(10e6, 2e6), kind: "download", node: 7 })),
      ...rows(5, () => ({ ...burst(10e6, 10e6), node: 7 })),
    ];
    expect(findThrottled(history)).toMatchObject([{ node: 7, way: "down" }]);
  });
});

describe("an asymmetric link", () => {
  const probes = (count: number, up: number, down: number) =>
    rows(count, () => ({ kind: "probe", outcome: "accept", up, down }));

  it("is found from eight times on, by what is usual", () => {
    const wild = row({ kind: "upload", up: 500e6 });
    expect(findAsymmetric([...probes(4, 2e6, 16e6), wild])).toMatchObject([{ way: "up", samples: 9, least: 6 }]);
    expect(factsOf(findAsymmetric(probes(3, 2e6, 40e6)))).toEqual([
      { "up, usually": 2e6, "down, usually": 40e6, "the one over the other": 20 },
    ]);
    expect(findAsymmetric(probes(3, 40e6, 2e6))).toMatchObject([{ way: "down" }]);
  });

  it("counts cases of benchmarks, and says how many they are", () => {
    const cases = (kind: "upload" | "download", effective: number) =>
      rows(4, () => ({ kind, effective, benchmark: 1 }));
    const found = findAsymmetric([...probes(2, 2e6, 40e6), ...cases("upload", 2e6), ...cases("download", 30e6)]);
    expect(found).toMatchObject([{ way: "up", samples: 12, ofBenchmarks: 8 }]);
    expect(findAsymmetric(probes(3, 2e6, 40e6))).toMatchObject([{ ofBenchmarks: 0 }]);
    const elsewhere = [...cases("upload", 2e6), ...cases("download", 30e6)].map((one) => ({ ...one, isUsed: false }));
    expect(findAsymmetric(elsewhere)).toEqual([]);
  });

  it("is not a home link of five times, nor one of two measurements", () => {
    expect(findAsymmetric(probes(20, 4e6, 20e6))).toEqual([]);
    expect(findAsymmetric(probes(2, 1e6, 90e6))).toEqual([]);
  });
});

describe("a degrading link", () => {
  const past = rows(20, (index) => ({ effective: 10e6 * (1 + 0.3 * noise(index)) }), 5);
  const lately = (share: number, count = 30) =>
    rows(count, (index) => ({ effective: share * 10e6 * (1 + 0.3 * noise(index + 50)) }));

  it("is found when it has become slower than it used to be, and what is one node's is not another's", () => {
    const found = findDegrading([...past, ...lately(0.4)], NOW);
    expect(found).toMatchObject([{ kind: "degrading", node: 1, way: "up", samples: 50, least: 12 }]);
    const [facts] = factsOf(found);
    expect(facts?.["usually before"]).toBeGreaterThan(8e6);
    expect(facts?.["usually in the last three days"]).toBeLessThan(5e6);
    expect(findDegrading([...past, ...lately(0.4).map((one) => ({ ...one, node: 2 }))], NOW)).toEqual([]);
  });

  it("is not noise, a little less, a single evening, or too few values", () => {
    expect(findDegrading([...past, ...lately(1)], NOW)).toEqual([]);
    expect(findDegrading([...past, ...lately(0.8)], NOW)).toEqual([]);
    const evening = lately(0.3, 20).map((one, index) => ({ ...one, at: NOW - (20 - index) * 60_000 }));
    expect(findDegrading([...past, ...evening], NOW)).toEqual([]);
    expect(findDegrading([...past.slice(-7), ...lately(0.3)], NOW)).toEqual([]);
  });

  it("is not one whose benchmarks reach less than its transfers did", () => {
    const cases = lately(0.3).map((one) => ({ ...one, benchmark: 1 }));
    expect(findDegrading([...past, ...cases], NOW)).toEqual([]);
    expect(findDegrading([...past, ...lately(0.3)], NOW)).toMatchObject([{ ofBenchmarks: 0 }]);
  });

  it("is not a past that was as wild as the present", () => {
    const wild = rows(20, (index) => ({ effective: index % 2 === 0 ? 10e6 : 2e6 }), 5);
    expect(
      findDegrading([...wild, ...rows(30, (index) => ({ effective: index % 3 === 0 ? 10e6 : 2e6 }))], NOW),
    ).toEqual([]);
  });
});

describe("a link far from its bucket", () => {
  const trip = (node: number, profileId: string, rttMs: number) => ({ node, profileId, rttMs, nodeRegion: "eu" });
  const trips = (...of: Parameters<typeof trip>) => rows(5, () => trip(...of));

  it("is found by its usual round trip, with the bucket that is nearer to its neighbours", () => {
    const near = [2, 3, 4].flatMap((node) => row(trip(node, "frankfurt", 25 + node)));
    const history = [
      ...trips(1, "east", 160),
      row({ node: 1, profileId: "east", nodeRegion: "eu", rttMs: 9_000 }),
      ...near,
    ];
    expect(findFar(history)).toMatchObject([
      { kind: "far", node: 1, profileId: "east", betterId: "frankfurt", samples: 6, least: 5 },
    ]);
    expect(factsOf(findFar(history))).toEqual([
      { "round trip, usually": 160, "to the nearer bucket, for its neighbours": 28 },
    ]);
  });

  it("has no better bucket where fewer than three neighbours use one, or nobody knows where it is", () => {
    const two = [2, 3].flatMap((node) => trips(node, "frankfurt", 20));
    expect(findFar([...trips(1, "east", 160), ...two])).toMatchObject([{ betterId: null }]);
    const nowhere = trips(1, "east", 160).map((one) => ({ ...one, nodeRegion: "" }));
    const others = [2, 3, 4].flatMap((node) => trips(node, "frankfurt", 20)).map((one) => ({ ...one, nodeRegion: "" }));
    expect(findFar([...nowhere, ...others])).toMatchObject([{ betterId: null }]);
  });

  it("counts the round trips of benchmarks, and says how many they are", () => {
    const turns = rows(4, () => ({ ...trip(1, "east", 180), kind: "probe", benchmark: 3 }));
    expect(findFar([...trips(1, "east", 160).slice(3), ...turns])).toMatchObject([{ samples: 6, ofBenchmarks: 4 }]);
    // A bucket that was only compared is nobody's to be far from, and may be the nearer one.
    const compared = (nodes: number[], rttMs: number) =>
      nodes.flatMap((node) => trips(node, "oslo", rttMs)).map((one) => ({ ...one, benchmark: 3, isUsed: false }));
    expect(findFar(compared([1], 300))).toEqual([]);
    const nearer = findFar([...trips(1, "east", 160), ...compared([1, 2, 3], 20)]);
    expect(nearer).toMatchObject([{ profileId: "east", betterId: "oslo" }]);
  });

  it("is not one of 149 ms, nor one that was measured four times", () => {
    expect(findFar(trips(1, "east", 149))).toEqual([]);
    expect(findFar(trips(1, "east", 300).slice(1))).toEqual([]);
  });
});
