import { describe, expect, it } from "vitest";
import { fault } from "#server/testing/match-fault.ts";
import { addTestNode, callAs, facts } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { expectedOfNeighbours, expectedRate } from "./expected-rate.ts";
import {
  DAY,
  ask,
  end,
  linkForEach,
  list,
  node,
  probe,
  profileId,
  query,
  run,
  steady,
  test,
} from "#server/testing/link-for-each.ts";

linkForEach();

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
    const event = { ...older, type: "transfer-ended" as const, seq: 1, at, transferId: newId() };
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
    const all = { nodeId: null, profileId: null, region: null, engine: null, kinds: [], outcome: null, cursor: null };
    const range = { from: 0, to: test.hub.now() + 1, limit: 10 };
    await expect(
      callAs(test.hub, "viewer").history.export({ what: "records", query: { ...all, ...range } }),
    ).rejects.toThrow();
    const records = await callAs(test.hub, "viewer").history.export({
      what: "records",
      query: { ...all, ...range, from: test.hub.now() - DAY },
    });
    expect(records).toMatchObject({ rows: 1, truncated: false });
    expect(records.text).toContain(",failed,LINK_DOWN,");
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
