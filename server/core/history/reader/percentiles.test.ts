import { describe, expect, it } from "vitest";
import type { PercentileRow } from "#protocol/history/history.ts";
import { fault } from "#server/testing/match-fault.ts";
import { addTestNode, callAs } from "#server/testing/open-test-hub.ts";
import { pruneHistory } from "../prune-history.ts";
import { rollUp } from "../roll-up.ts";
import { writeMinute } from "../write-minute.ts";
import {
  DAY,
  HOUR,
  ask,
  close,
  end,
  linkForEach,
  moving,
  node,
  profileId,
  query,
  say,
  steady,
  test,
} from "#server/testing/link-for-each.ts";

linkForEach();

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
    const questions = [
      query(),
      query({ by: "node" }),
      query({ by: "region", sources: ["live"] }),
      query({ by: "profile", nodeIds: [other.nodeId] }),
    ].map((one) => ({ ...one, to: test.hub.now() + 1 }));
    const answers = () =>
      Promise.all(questions.map(async (one) => (await callAs(test.hub, "viewer").history.percentiles(one)).rows));
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
