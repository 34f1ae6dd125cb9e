import { describe, expect, it } from "vitest";
import { findProblems } from "./judge.ts";

type Found = Parameters<typeof findProblems>[0];

const rate: Found["rates"][number] = {
  node: "node-01",
  store: "us-east",
  direction: "up",
  rttMs: 40,
  lossPercent: 0,
  linkMbit: 20,
  engine: "sdk",
  toldMbit: 18,
  truthMbit: 18.5,
  share: 0.97,
  linkShare: 0.93,
  agrees: true,
};
const count: Found["failingStore"]["counts"][number] = {
  engine: "sdk",
  direction: "up",
  cases: 20,
  failed: 1,
  met: 2,
  survived: 1,
  withoutCause: 0,
  temporary: 1,
  final: 1,
};
const ranking: Found["rankings"][number] = {
  nodeRegion: "",
  storeRegion: "",
  links: "all",
  direction: "up",
  means: [
    { engine: "sdk", mbit: 20 },
    { engine: "boto3", mbit: 19 },
    { engine: "rclone", mbit: 14 },
  ],
  order: ["rclone", "boto3", "sdk"],
};
const turned: typeof ranking = {
  ...ranking,
  means: [
    { engine: "rclone", mbit: 20 },
    { engine: "boto3", mbit: 19 },
    { engine: "sdk", mbit: 14 },
  ],
  order: ["sdk", "boto3", "rclone"],
};
const killed = {
  node: "node-03",
  store: "us-east",
  afterSeconds: 60,
  casesTold: 2,
  casesKept: 2,
  casesPlanned: 24,
  turns: { INTERRUPTED: 1, EXPIRED: 2 },
};
const good: Found = {
  fleet: [],
  engines: [],
  bytes: 1,
  partBytes: 1,
  connections: 1,
  perBucket: 1,
  seed: 1,
  seconds: 1,
  movingSeconds: 1,
  cpu: { mean: 0.5, p90: 0.6 },
  raw: [],
  rates: [rate],
  rtts: [{ node: "node-01", store: "us-east", truthMs: 40, toldMs: 41, agrees: true }],
  recounted: [{ what: "cases", told: 3, counted: 3, agrees: true }],
  rankings: [ranking],
  summary: [],
  failingStore: { store: "us-west", requests: 100, failedRequests: 2, counts: [count], failedElsewhere: 0 },
  killed,
  turns: { done: 57, failed: 3, all: 60, clean: 60 },
  cases: { done: 458, failed: 1 },
  refused: 0,
};

describe("a benchmark over emulated links", () => {
  it("has no problem when all agrees, the killed node's turns being the ones that failed", () => {
    expect(findProblems(good)).toEqual([]);
  });

  it("is held against the guide's ranking where links lose packets, as the guide's did", () => {
    expect(findProblems({ ...good, rankings: [turned, { ...ranking, links: "with loss" }] })).toEqual([]);
    expect(findProblems({ ...good, rankings: [ranking, { ...turned, links: "with loss" }] })).toHaveLength(1);
  });

  it("takes one transfer over a link that loses packets for chance, and their mean for the truth", () => {
    const chance = [0.85, 1.05].map((share) => ({ ...rate, lossPercent: 0.1, share, agrees: share > 0.9 }));
    expect(findProblems({ ...good, rates: [rate, ...chance] })).toEqual([]);
  });

  it.each([
    [{ rates: [rate, { ...rate, share: 0.8, agrees: false }] }, "1 of 2 rates"],
    [{ rates: [rate, { ...rate, lossPercent: 0.1, share: 0.7, agrees: false }] }, "lose packets the mean is 70.0 %"],
    [{ rtts: [{ node: "n", store: "us-east" as const, truthMs: 40, toldMs: 90, agrees: false }] }, "round trips"],
    [{ recounted: [{ what: "maximum up, P90", told: 1, counted: 2, agrees: false }] }, "maximum up, P90"],
    [{ failingStore: { ...good.failingStore, failedElsewhere: 2 } }, "2 cases failed at a store that failed nothing"],
    [{ failingStore: { ...good.failingStore, counts: [{ ...count, withoutCause: 1 }] } }, "1 cases failed though"],
    [{ killed: { ...killed, casesKept: 1 } }, "was lost"],
    [{ killed: null }, "3 turns failed"],
    [{ turns: { ...good.turns, clean: 59 } }, "1 turns left something"],
    [{ rankings: [turned] }, "the guide's three tools stand in another order"],
    [{ refused: 4 }, "4 packets"],
    [{ cpu: { mean: 0.97, p90: 1 } }, "97 % busy"],
  ])("with %j says so", (change, sentence) => {
    const problems = findProblems({ ...good, ...change });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(sentence);
  });
});
