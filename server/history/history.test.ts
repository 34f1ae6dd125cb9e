import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PercentileRow, PercentilesInput } from "#protocol/history.ts";
import type { Measured } from "#protocol/measured.ts";
import { runName } from "#protocol/names.ts";
import type { NodeEvent, TransferProgress } from "#protocol/reports.ts";
import { fault } from "../hub/match-fault.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  facts,
  openTestHub,
  report,
  type TestHub,
  type TestNode,
} from "../hub/open-test-hub.ts";
import { newId } from "../random-id.ts";
import { expectedOfNeighbours, expectedRate } from "./expected-rate.ts";
import { pruneHistory } from "./prune-history.ts";
import { rollUp } from "./roll-up.ts";
import { writeMinute } from "./write-minute.ts";

const run = runName.parse("llama");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let test: TestHub;
let profileId: string;
let node: TestNode;
let seq = 0;
beforeEach(async () => {
  test = await openTestHub();
  profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  node = await addTestNode(test.hub, profileId, "gpu-1");
});
afterEach(() => test.close());

type Ended = Extract<NodeEvent, { type: "transfer-ended" }>;
const ways: Measured = {
  engine: "tidemark",
  tookMs: 10_000,
  sentBytes: 8_000_000,
  steadyBytesPerSecond: 1_000_000,
  rampMs: 1_500,
  isSteady: true,
  parts: 3,
  partBytes: 4_000_000,
  rttMs: 40,
};
const end = (who: TestNode, changes: Partial<Ended> = {}) => {
  const at = test.hub.now();
  const event: Ended = {
    type: "transfer-ended",
    seq: ++seq,
    at,
    transferId: newId(),
    direction: "upload",
    state: "done",
    checkpointId: newId(),
    run,
    step: 5,
    bytes: 8_000_000,
    files: 1,
    sentBytes: 8_000_000,
    startedAt: at - 20_000,
    retries: 2,
    connections: 6,
    startedBy: "queue",
    fault: null,
    measured: ways,
    ...changes,
  };
  return callAs(test.hub, who.caller).node.record({ events: [event] });
};
const steady = (bytesPerSecond: number, more: Partial<Measured> = {}): Partial<Ended> => ({
  measured: { ...ways, steadyBytesPerSecond: bytesPerSecond, ...more },
});
const probe = (who: TestNode, up: number | null, down: number | null) =>
  callAs(test.hub, who.caller).node.probed({
    id: newId(),
    machineId: null,
    outcome: "accept",
    reason: "",
    rttMs: 25,
    clockSkewMs: 0,
    up,
    down,
    thresholds: { up: null, down: null },
    attempts: 2,
    tookMs: 21_000,
    manner: {
      engine: "tidemark",
      up: { rampMs: 500, isSteady: true, movedBytes: 5_000, connections: 9 },
      down: null,
    },
  });
const moving = (direction: "upload" | "download"): TransferProgress => ({
  id: `transfer-${direction}`,
  direction,
  state: "running",
  checkpointId: "checkpoint-0001",
  run,
  step: 5,
  bytesDone: 1,
  bytesTotal: 5_000_000,
  filesDone: 0,
  filesTotal: 2,
  currentPath: null,
  bytesPerSecond: 1,
  startedAt: 1,
  connections: 4,
  retries: 0,
  pieces: "",
  stalledMs: null,
  fault: null,
  startedBy: "queue",
});
const say = (who: TestNode, changes: object) =>
  callAs(test.hub, who.caller).node.progress({ ...report(test.hub), ...changes });

const query = (changes: Partial<PercentilesInput> = {}): PercentilesInput => ({
  from: test.hub.now() - 60 * DAY,
  to: test.hub.now() + 1,
  measures: ["up", "down", "rtt"],
  sources: null,
  nodeIds: null,
  profileId: null,
  provider: null,
  region: null,
  engine: null,
  by: "all",
  limit: 1_000,
  ...changes,
});
const ask = async (changes: Partial<PercentilesInput> = {}): Promise<PercentileRow[]> =>
  (await callAs(test.hub, "viewer").history.percentiles(query(changes))).rows;
const list = (changes: object = {}) =>
  callAs(test.hub, "viewer").history.list({
    from: test.hub.now() - 60 * DAY,
    to: test.hub.now() + 1,
    nodeId: null,
    profileId: null,
    region: null,
    engine: null,
    kinds: [],
    outcome: null,
    cursor: null,
    limit: 100,
    ...changes,
  });
const close = (value: number) => expect.closeTo(value, -Math.floor(Math.log10(value * 0.02)) - 1) as number;

describe("the history of links", () => {
  it("keeps a transfer with all that its node said of it", async () => {
    await callAs(test.hub, node.caller).node.hello({
      protocol: 1,
      bootId: newId(),
      facts: { ...facts, labels: { region: "us-east" } },
    });
    await end(node);
    expect((await list()).rows).toMatchObject([
      {
        kind: "upload",
        nodeName: "gpu-1",
        region: "us-east",
        provider: "minio",
        bucketRegion: "us-east-1",
        profileName: "training",
        run: "llama",
        engine: "tidemark",
        outcome: "done",
        fault: null,
        rttMs: 40,
        up: 1_000_000,
        down: null,
        effective: 800_000,
        rampMs: 1_500,
        tookMs: 10_000,
        isSteady: true,
        sizeBytes: 8_000_000,
        parts: 3,
        partBytes: 4_000_000,
        connections: 6,
        retries: 2,
      },
    ]);
  });

  it("keeps a failure with its code, one each time, and passes over what says nothing", async () => {
    const transferId = newId();
    await end(node, { transferId, state: "failed", fault: { code: "LINK_DOWN" } });
    await end(node, { transferId, state: "failed", fault: { code: "LINK_DOWN" } });
    await end(node, { transferId, state: "failed", fault: { code: "STALLED" }, retries: 7 });
    await end(node, { state: "superseded", sentBytes: 0 });
    await end(node, { state: "cancelled", sentBytes: 0 });
    expect((await list()).rows.map(({ outcome, fault: code }) => [outcome, code])).toEqual([
      ["failed", "STALLED"],
      ["failed", "LINK_DOWN"],
    ]);
  });

  it("understands a worker that does not say how it measured", async () => {
    const { measured: _, ...older } = { measured: undefined };
    const at = test.hub.now();
    const event = { ...older, type: "transfer-ended" as const, seq: ++seq, at, transferId: newId() };
    const rest = { direction: "download" as const, state: "done" as const, checkpointId: newId(), run, step: 1 };
    const counts = { bytes: 4_000, files: 1, sentBytes: 4_000, startedAt: at - 2_000, retries: 0, connections: 1 };
    await callAs(test.hub, node.caller).node.record({
      events: [{ ...event, ...rest, ...counts, startedBy: "operator", fault: null }],
    });
    expect((await list()).rows).toMatchObject([{ effective: 2_000, up: null, down: null, engine: "tidemark" }]);
    expect(await ask()).toMatchObject([{ measure: "down", count: 1, mean: 2_000 }]);
  });

  it("keeps a probe, both ways", async () => {
    await probe(node, 3_000_000, null);
    expect((await list()).rows).toMatchObject([
      { kind: "probe", up: 3_000_000, down: null, rttMs: 25, connections: 9, sentBytes: 5_000, retries: 1 },
    ]);
    expect((await ask()).map(({ measure, count, failures }) => [measure, count, failures])).toEqual([
      ["up", 1, 0],
      ["down", 0, 1],
      ["rtt", 1, 0],
    ]);
  });

  it("comes page by page, each line once, and by what is asked for", async () => {
    const other = await addTestNode(test.hub, profileId, "gpu-2");
    for (let count = 0; count < 5; count++) await end(count % 2 === 0 ? node : other, steady(1_000 + count));
    const seen: number[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof list>> = await list({ cursor, limit: 2 });
      seen.push(...page.rows.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(seen.toSorted((a, b) => b - a));
    expect(new Set(seen).size).toBe(5);
    expect((await list({ nodeId: other.nodeId })).rows).toHaveLength(2);
    expect((await list({ kinds: ["download"] })).rows).toHaveLength(0);
    expect((await list({ engine: "rclone" })).rows).toHaveLength(0);
  });

  it("leaves the hub as a table that no spreadsheet runs", async () => {
    await end(node, { state: "failed", fault: { code: "LINK_DOWN" }, startedAt: test.hub.now() });
    const { rows: _, ...input } = { rows: 0, ...query({ by: "node" }) };
    const percentiles = await callAs(test.hub, "viewer").history.export({ what: "percentiles", query: input });
    expect(percentiles.text.split("\r\n")[0]).toBe("group,key,measure,count,mean,p10,p50,p90,failures,failure_share");
    expect(percentiles.text).toContain(`gpu-1,${node.nodeId},up,0,0,0,0,0,1,1`);
    const wish = { nodeId: null, profileId: null, region: null, engine: null, kinds: [], outcome: null, cursor: null };
    const range = { from: 0, to: test.hub.now() + 1, limit: 10 };
    await expect(
      callAs(test.hub, "viewer").history.export({ what: "records", query: { ...wish, ...range } }),
    ).rejects.toThrow();
    const records = await callAs(test.hub, "viewer").history.export({
      what: "records",
      query: { ...wish, ...range, from: test.hub.now() - DAY },
    });
    expect(records).toMatchObject({ rows: 1, truncated: false });
    expect(records.text).toContain(",failed,LINK_DOWN,");
  });
});

describe("percentiles", () => {
  it("are within two per cent, for each direction, with the share of failures", async () => {
    for (let count = 1; count <= 20; count++) await end(node, steady(count * 100_000));
    for (let count = 0; count < 5; count++) await end(node, { state: "failed", fault: { code: "STALLED" } });
    await end(node, { direction: "download", ...steady(7_000_000) });
    const rows = await ask({ by: "direction" });
    expect(rows.map(({ key, measure, count, failures }) => [key, measure, count, failures])).toEqual([
      ["down", "down", 1, 0],
      ["rtt", "rtt", 26, 0],
      ["up", "up", 20, 5],
    ]);
    const up = rows.find(({ measure }) => measure === "up");
    expect(up?.failureShare).toBeCloseTo(0.2);
    expect(up?.mean).toBeCloseTo(1_050_000);
    for (const [found, exact] of [
      [up?.p10, 200_000],
      [up?.p50, 1_000_000],
      [up?.p90, 1_800_000],
    ] as const) {
      expect(Math.abs((found ?? 0) / exact - 1)).toBeLessThanOrEqual(0.02);
    }
  });

  it("are the same before and after hours and days were rolled up, also by a hub that was restarted", async () => {
    const other = await addTestNode(test.hub, profileId, "gpu-2");
    const speak = async () => {
      for (const [index, who] of [node, other].entries()) {
        await end(who, steady(1_000_000 * (index + 1)));
        await say(who, { upBytesPerSecond: 500_000, rttMs: 30, transfers: [moving("upload")] });
      }
      await writeMinute(test.hub, test.hub.now());
    };
    for (let hour = 0; hour < 52; hour++) {
      await speak();
      test.advance(HOUR);
    }
    const wishes = [
      query(),
      query({ by: "node" }),
      query({ by: "region", sources: ["live"] }),
      query({ by: "profile", nodeIds: [other.nodeId] }),
    ].map((one) => ({ ...one, to: test.hub.now() + 1 }));
    const answers = () =>
      Promise.all(wishes.map(async (one) => (await callAs(test.hub, "viewer").history.percentiles(one)).rows));
    const before = await answers();
    expect(before[0]?.map(({ measure, count }) => [measure, count])).toEqual([
      ["up", 104],
      ["rtt", 208],
    ]);
    expect(before[1]?.filter(({ measure }) => measure === "up").map(({ label, count }) => [label, count])).toEqual([
      ["gpu-1", 52],
      ["gpu-2", 52],
    ]);
    expect(before[2]).toMatchObject([
      { measure: "up", count: 104 },
      { measure: "rtt", count: 104 },
    ]);
    await rollUp(test.hub);
    await rollUp(test.hub);
    expect(await test.hub.db.historyRoll.count({ where: { level: 2 } })).toBeGreaterThan(1);
    const near = (rows: PercentileRow[]) => rows.map((row) => ({ ...row, mean: close(row.mean) }));
    expect(await answers()).toEqual(before.map(near));
    // Minutes and records are not asked any more.
    await test.hub.db.historyMinute.deleteMany();
    await test.hub.db.linkRecord.deleteMany();
    await test.restart();
    expect(await answers()).toEqual(before.map(near));
  });

  it("are rolled up once, however often the hub was killed half-way", async () => {
    await end(node, steady(1_000_000));
    test.advance(2 * HOUR);
    await rollUp(test.hub);
    await test.hub.db.historyMark.deleteMany();
    await rollUp(test.hub);
    expect(await ask({ measures: ["up"] })).toMatchObject([{ count: 1 }]);
  });

  it("count a live minute only by the moments in which something moved", async () => {
    await say(node, { upBytesPerSecond: 0, rttMs: 10 });
    await say(node, { upBytesPerSecond: 2_000_000, rttMs: 10, transfers: [moving("upload")] });
    await say(node, { upBytesPerSecond: 0, rttMs: 10 });
    await writeMinute(test.hub, test.hub.now());
    test.advance(60_000);
    await say(node, { upBytesPerSecond: 0, rttMs: 12 });
    await writeMinute(test.hub, test.hub.now());
    const rows = await ask({ sources: ["live"], by: "node" });
    expect(rows.map(({ measure, count }) => [measure, count])).toEqual([
      ["up", 1],
      ["rtt", 2],
    ]);
    expect(Math.abs((rows[0]?.p50 ?? 0) / 2_000_000 - 1)).toBeLessThan(0.02);
  });

  it("leave out what was not asked for, and are refused for a range without end", async () => {
    await end(node, steady(1_000));
    expect(await ask({ engine: "rclone" })).toEqual([]);
    expect(await ask({ nodeIds: ["unknown-node"] })).toEqual([]);
    expect(await ask({ provider: "aws" })).toEqual([]);
    expect(await ask({ provider: "minio", measures: ["up"] })).toHaveLength(1);
    expect(await ask({ from: test.hub.now() - 50 * DAY, to: test.hub.now() - 2 * DAY })).toEqual([]);
    await expect(ask({ from: 5, to: 5 })).rejects.toThrow();
    await expect(ask({ from: 0 })).rejects.toThrow();
  });
});

describe("a chart", () => {
  const chart = (step: "minute" | "hour" | "day", from: number) =>
    callAs(test.hub, "viewer").history.series({ ...query({ from, measures: ["up"] }), by: "all", step });

  it("has a point for each hour and day, whether it was rolled up or not", async () => {
    const from = test.hub.now() - HOUR;
    for (let hour = 0; hour < 30; hour++) {
      await end(node, steady(1_000_000));
      test.advance(HOUR);
    }
    const [before] = await chart("hour", from);
    expect(before?.points).toHaveLength(30);
    await rollUp(test.hub);
    const [after] = await chart("hour", from);
    expect(after?.points.map(({ at, count }) => [at, count])).toEqual(
      before?.points.map(({ at, count }) => [at, count]),
    );
    const [days] = await chart("day", from - DAY);
    expect(days?.points.reduce((sum, { count }) => sum + count, 0)).toBe(30);
    expect(days?.points.length).toBeLessThanOrEqual(3);
  });

  it("of minutes shows live rates", async () => {
    await say(node, { upBytesPerSecond: 2_000_000, transfers: [moving("upload")] });
    await writeMinute(test.hub, test.hub.now());
    expect(await chart("minute", test.hub.now() - HOUR)).toMatchObject([{ measure: "up", points: [{ count: 1 }] }]);
  });

  it("is refused with more points than anybody sees", async () => {
    await expect(chart("minute", test.hub.now() - 10 * DAY)).rejects.toEqual(fault("BAD_INPUT"));
  });
});

describe("regions", () => {
  it("are what the operator says, from then on, and who said it is remembered", async () => {
    await end(node);
    const rules = [{ kind: "name" as const, pattern: "gpu-*", region: "cellar" }];
    await expect(callAs(test.hub, "viewer").history.setRegions({ rules })).rejects.toEqual(fault("ROLE_REQUIRED"));
    await callAs(test.hub, "operator").history.setRegions({ rules });
    await test.restart();
    expect(await callAs(test.hub, "viewer").history.regions()).toEqual({ rules });
    await end(node);
    expect((await ask({ by: "region", measures: ["up"] })).map(({ key, label, count }) => [key, label, count])).toEqual(
      [
        ["cellar", "cellar", 1],
        ["", "unknown", 1],
      ],
    );
    expect(await ask({ region: "cellar", measures: ["up"] })).toMatchObject([{ count: 1 }]);
    expect(await test.hub.db.audit.findMany({ where: { action: "set regions" } })).toMatchObject([
      { subject: "1 rules", actor: "operator@example.com" },
    ]);
  });
});

describe("what is too old", () => {
  it("goes, level by level, and nothing that is not rolled up yet", async () => {
    await end(node, steady(1_000_000));
    await say(node, { rttMs: 10 });
    await writeMinute(test.hub, test.hub.now());
    test.advance(800 * DAY);
    expect(await pruneHistory(test.hub)).toBe(1);
    expect([await test.hub.db.historyMinute.count(), await test.hub.db.linkRecord.count()]).toEqual([1, 1]);
    await test.hub.db.historyMark.create({ data: { level: 1, through: Math.floor(test.hub.now() / HOUR) } });
    await pruneHistory(test.hub);
    const { db } = test.hub;
    const left = [db.historyMinute, db.fleetMinute, db.linkRecord].map((table) =>
      (table as { count: () => Promise<number> }).count(),
    );
    expect(await Promise.all(left)).toEqual([0, 0, 0]);
  });

  it("leaves days where hours are gone", async () => {
    await end(node, steady(1_000_000));
    test.advance(2 * DAY);
    await rollUp(test.hub);
    const from = test.hub.now() - 3 * DAY;
    const to = test.hub.now();
    test.advance(100 * DAY);
    await test.hub.db.historyMark.updateMany({
      where: { level: 1 },
      data: { through: Math.floor(test.hub.now() / HOUR) },
    });
    await pruneHistory(test.hub);
    expect(await test.hub.db.historyRoll.count({ where: { level: 1 } })).toBe(0);
    expect(await ask({ measures: ["up"], from, to })).toMatchObject([{ count: 1 }]);
  });
});

describe("the rate that is expected of a node", () => {
  const rate = (direction: "upload" | "download" = "upload") =>
    expectedRate(test.hub, { nodeId: node.nodeId, profileId, direction });

  it("is the median of its last five transfers that way, also after a restart", async () => {
    expect(rate()).toBeNull();
    for (const tookMs of [1_000, 10_000, 10_000, 8_000, 16_000, 100_000]) await end(node, steady(1, { tookMs }));
    expect(rate()).toEqual({ bytesPerSecond: 800_000, basis: "transfers" });
    await test.restart();
    expect(rate()).toEqual({ bytesPerSecond: 800_000, basis: "transfers" });
    expect(rate("download")).toBeNull();
  });

  it("is what its probe found while it has moved nothing", async () => {
    await probe(node, 1_000_000, 5_000_000);
    expect(rate("download")).toEqual({ bytesPerSecond: 4_500_000, basis: "probe" });
    await end(node, { state: "failed", fault: { code: "STALLED" } });
    expect(rate()).toEqual({ bytesPerSecond: 900_000, basis: "probe" });
  });

  it("is else that of its neighbours, when there are enough", async () => {
    for (const [index, tookMs] of [10_000, 20_000, 40_000].entries()) {
      expect(expectedOfNeighbours(test.hub, { profileId, direction: "upload" })).toBeNull();
      await end(await addTestNode(test.hub, profileId, `other-${index}`), steady(1, { tookMs }));
    }
    expect(expectedOfNeighbours(test.hub, { profileId, direction: "upload" })).toEqual({
      bytesPerSecond: 400_000,
      basis: "neighbours",
    });
  });
});
