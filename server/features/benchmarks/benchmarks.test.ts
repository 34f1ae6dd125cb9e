import { beforeEach, describe, expect, it } from "vitest";
import { USUAL_SETTINGS } from "#protocol/benchmarks/plan-input.ts";
import type { BenchCaseEnd } from "#protocol/benchmarks/turn.ts";
import { benchFolder } from "#protocol/checkpoint/keys.ts";
import { putObjectText } from "#storage/s3/objects.ts";
import { listObjects } from "#storage/s3/listing.ts";
import { hubForEach, store, test } from "#server/testing/hub-for-each.ts";
import { addTestNode, addTestProfile, callAs, type TestNode } from "#server/testing/open-test-hub.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { newId } from "#server/platform/random-id.ts";
import { cleanTurns } from "./clean-turns.ts";
import { runBenchmarks } from "./run-benchmarks.ts";

let profiles: string[];
let nodes: TestNode[];
hubForEach();
beforeEach(async () => {
  profiles = [
    await addTestProfile(test.hub, store.endpoint, { name: "east", region: "us-east-1" }),
    await addTestProfile(test.hub, store.endpoint, { name: "west", region: "us-west-1", prefix: "west/" }),
  ];
  nodes = [];
  for (const name of ["gpu-1", "gpu-2", "gpu-3"]) nodes.push(await online(name));
});

/** A node that is heard. */
async function online(name: string): Promise<TestNode> {
  const node = await addTestNode(test.hub, profiles[0] ?? "", name);
  await stayOnline([node]);
  return node;
}
async function stayOnline(which = nodes): Promise<void> {
  for (const { caller, nodeId } of which) {
    await callAs(test.hub, caller)
      .node.record({ events: [] })
      .catch(() => undefined);
    const live = test.hub.live.nodes.get(nodeId);
    if (live !== undefined) live.quietSince = test.hub.now();
  }
}

const settings = { ...USUAL_SETTINGS, engines: ["tidemark", "sdk", "aria2"] as const, sizeBytes: 1_000_000 };
const targets = (changes: object = {}) => ({ scope: {}, sample: null, profileIds: profiles, ...changes });
const as = (who: "viewer" | "operator" | "admin") => callAs(test.hub, who).benchmarks;
const start = async (changes: object = {}) => {
  const id = newId();
  const input = { id, name: "all", targets: targets(), settings: { ...settings, engines: [...settings.engines] } };
  await as("operator").start({ ...input, perBucket: 2, seed: 7, ...changes });
  return id;
};
const turns = (id: string) =>
  test.hub.db.benchTurn.findMany({ where: { benchmarkId: id }, orderBy: { position: "asc" } });
const running = async (id: string) => (await turns(id)).filter(({ state }) => state === "running");
const nodeOf = (nodeId: string): TestNode => {
  const node = nodes.find((one) => one.nodeId === nodeId);
  if (node === undefined) throw new Error("no such node");
  return node;
};
const asNode = (nodeId: string) => callAs(test.hub, nodeOf(nodeId).caller).node;
const end = (changes: Partial<BenchCaseEnd> = {}): BenchCaseEnd => ({
  engine: "tidemark",
  direction: "up",
  round: 1,
  bytes: 1_000_000,
  tookMs: 1000,
  loadMs: null,
  bytesPerSecond: 1_000_000,
  peakBytes: 5,
  fault: null,
  log: "",
  ...changes,
});
let seq = 0;
const finish = (nodeId: string, commandId: string | null) =>
  asNode(nodeId).record({
    events: [
      {
        type: "command-ended",
        commandId: commandId ?? "",
        outcome: "done",
        fault: null,
        detail: null,
        seq: ++seq,
        at: test.hub.now(),
      },
    ],
  });

const KEY = { accessKeyId: "AKIABENCH", secretAccessKey: "bench-secret-key" };
const GIVEN = { kind: "given", ...KEY } as const;

describe("a plan", () => {
  it("says who takes part, what is moved, and what does not run for want of a key", async () => {
    const plan = await as("operator").preview({
      targets: targets(),
      settings: { ...settings, engines: ["tidemark", "sdk"] },
    });
    expect(plan).toMatchObject({ turns: 6, cases: 12, upBytes: 12_000_000, downBytes: 6_000_000 });
    expect(plan.nodes.map(({ name }) => name)).toEqual(["gpu-1", "gpu-2", "gpu-3"]);
    expect(plan.buckets.map(({ name, withoutKey }) => [name, withoutKey])).toEqual([
      ["east", ["sdk"]],
      ["west", ["sdk"]],
    ]);
    await as("admin").setKey({ profileId: profiles[0] ?? "", key: GIVEN, grant: null });
    const keyed = await as("operator").preview({ targets: targets(), settings: { ...settings, engines: ["sdk"] } });
    expect(keyed.buckets.map(({ withoutKey }) => withoutKey)).toEqual([[], ["sdk"]]);
  });

  it("says of every engine whether it can run, and what it needs: a key, or a program that no node said to have", async () => {
    const needs = async () => {
      const plan = await as("operator").preview({
        targets: targets(),
        settings: { ...settings, engines: ["tidemark"] },
      });
      return new Map(plan.engines.map(({ engine, ...rest }) => [engine, rest]));
    };
    const before = await needs();
    expect(before.get("tidemark")).toEqual({ canRun: true, needs: null, missingOn: 0, unknownOn: 0 });
    expect(before.get("sdk")).toMatchObject({ canRun: false, needs: "key" });
    expect(before.get("uplink")).toMatchObject({ canRun: false, needs: "grant", unknownOn: 3 });
    expect(before.get("aria2")).toEqual({ canRun: false, needs: null, missingOn: 0, unknownOn: 3 });
    await as("admin").setKey({ profileId: profiles[0] ?? "", key: GIVEN, grant: null });
    const id = await start();
    await runBenchmarks(test.hub);
    const [first, second] = (await running(id)).toSorted((a, b) => a.position - b.position);
    const said = (turn: typeof first, missing: string | null) =>
      asNode(turn?.nodeId ?? "").benchBegin({
        turnId: turn?.id ?? "",
        rttMs: null,
        engines: [{ engine: "aria2", version: missing === null ? "1.37" : null, missing }],
      });
    await said(first, "aria2c is not on the PATH");
    expect((await needs()).get("aria2")).toEqual({ canRun: false, needs: null, missingOn: 1, unknownOn: 2 });
    await said(second, null);
    expect((await needs()).get("aria2")).toEqual({ canRun: true, needs: null, missingOn: 1, unknownOn: 1 });
    expect((await needs()).get("sdk")).toMatchObject({ canRun: true, needs: null });
    expect((await needs()).get("rclone")).toMatchObject({ canRun: false, needs: null, unknownOn: 3 });
  });

  it("is refused where nobody fits, or nothing could run", async () => {
    const nobody = as("operator").preview({
      targets: targets({ scope: { nodes: "cpu-*" } }),
      settings: USUAL_SETTINGS,
    });
    await expect(nobody).rejects.toThrow("the filter fits none that is online");
    await expect(start({ settings: { ...settings, engines: ["sdk"] } })).rejects.toThrow(
      "none of these buckets has a benchmark key",
    );
  });

  it("draws a sample by the seed", async () => {
    const drawn = async (seed: number) => [
      ...new Set((await turns(await start({ targets: targets({ sample: 1 }), seed }))).map(({ nodeName }) => nodeName)),
    ];
    expect(await drawn(3)).toEqual(await drawn(3));
    const all = new Set((await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(drawn))).flat());
    expect(all.size).toBeGreaterThan(1);
  });
});

describe("a benchmark", () => {
  it("gives each node one turn at a time and each bucket as many as it may have, until all have ended", async () => {
    const id = await start({ perBucket: 1 });
    expect(await turns(id)).toHaveLength(6);
    for (let round = 0; round < 12; round++) {
      await runBenchmarks(test.hub);
      const now = await running(id);
      expect(now.length).toBeLessThanOrEqual(2);
      expect(new Set(now.map(({ nodeId }) => nodeId)).size).toBe(now.length);
      expect(new Set(now.map(({ profileId }) => profileId)).size).toBe(now.length);
      for (const { nodeId, commandId } of now) await finish(nodeId, commandId);
    }
    expect(await as("viewer").get({ id })).toMatchObject({ state: "done", turns: { done: 6, waiting: 0, running: 0 } });
  });

  it("goes on after the hub was killed, without a turn being given twice", async () => {
    const id = await start();
    await runBenchmarks(test.hub);
    const before = (await running(id)).map(({ id: turn, commandId }) => [turn, commandId]);
    await test.restart();
    await stayOnline();
    await runBenchmarks(test.hub);
    const after = (await running(id)).map(({ id: turn, commandId }) => [turn, commandId]);
    expect(after).toEqual(expect.arrayContaining(before));
    expect(before.length).toBeGreaterThan(0);
  });

  it("tells a node what is left: after a restart of the node only what was not told yet", async () => {
    const id = await start();
    await runBenchmarks(test.hub);
    const [turn] = await running(id);
    if (turn === undefined) throw new Error("nothing runs");
    const node = asNode(turn.nodeId);
    const job = await node.benchTurn({ turnId: turn.id });
    expect(job.cases.map(({ engine }) => engine).toSorted()).toEqual(["aria2", "tidemark", "tidemark"]);
    expect(job).toMatchObject({ credential: null, grant: null, folder: benchFolder(turn.prefix, turn.id) });
    await node.benchBegin({
      turnId: turn.id,
      rttMs: 12,
      engines: [{ engine: "tidemark", version: "1", missing: null }],
    });
    await node.benchCase({ turnId: turn.id, end: end() });
    await node.benchCase({ turnId: turn.id, end: end({ bytesPerSecond: 5 }) });
    const left = await node.benchTurn({ turnId: turn.id });
    expect(left.cases).toHaveLength(job.cases.length - 1);
    const { rows } = await as("viewer").cases({ id });
    expect(rows).toMatchObject([{ engine: "tidemark", direction: "up", bytesPerSecond: 1_000_000, rttMs: 12 }]);
  });

  it("lends the key of its own to the node whose turn it is, and to nobody else", async () => {
    for (const profileId of profiles) await as("admin").setKey({ profileId, key: GIVEN, grant: "1grant" });
    const id = await start({ targets: targets({ profileIds: [profiles[0]] }) });
    await runBenchmarks(test.hub);
    const [turn] = await running(id);
    if (turn === undefined) throw new Error("nothing runs");
    expect(await asNode(turn.nodeId).benchTurn({ turnId: turn.id })).toMatchObject({
      credential: KEY,
      grant: "1grant",
    });
    const other = nodes.find(({ nodeId }) => nodeId !== turn.nodeId)?.nodeId ?? "";
    await expect(asNode(other).benchTurn({ turnId: turn.id })).rejects.toMatchObject({
      cause: { code: "NOT_THIS_NODES" },
    });
    const shown = JSON.stringify([await as("viewer").keys(), await as("admin").get({ id })]);
    expect(shown).not.toContain(KEY.secretAccessKey);
    expect(shown).toContain("ENCH");
    const command = await test.hub.db.command.findUniqueOrThrow({ where: { id: turn.commandId ?? "" } });
    expect(command.body).not.toContain(KEY.secretAccessKey);
    await finish(turn.nodeId, turn.commandId);
    await runBenchmarks(test.hub);
    await expect(asNode(turn.nodeId).benchTurn({ turnId: turn.id })).rejects.toMatchObject({
      cause: { code: "CANCELLED" },
    });
  });

  it("signs nothing outside the folder of a turn, and nothing once that has ended", async () => {
    const id = await start();
    await runBenchmarks(test.hub);
    const [turn] = await running(id);
    if (turn === undefined) throw new Error("nothing runs");
    const sign = (key: string) => asNode(turn.nodeId).benchSign({ turnId: turn.id, operations: [{ op: "head", key }] });
    const own = `${benchFolder(turn.prefix, turn.id)}reference`;
    expect((await sign(own)).requests).toHaveLength(1);
    for (const key of [`${turn.prefix}runs/a`, `${turn.prefix}_tidemark/bench/other/x`, "elsewhere"]) {
      await expect(sign(key)).rejects.toMatchObject({ cause: { code: "NOT_THIS_NODES" } });
    }
    await as("operator").cancel({ id });
    await expect(sign(own)).rejects.toMatchObject({ cause: { code: "CANCELLED" } });
  });

  it("that is cancelled tells its nodes, begins nothing more, and keeps what was measured", async () => {
    const id = await start();
    await runBenchmarks(test.hub);
    const [turn] = await running(id);
    await asNode(turn?.nodeId ?? "").benchCase({ turnId: turn?.id ?? "", end: end() });
    await as("operator").cancel({ id });
    await runBenchmarks(test.hub);
    expect(await as("viewer").get({ id })).toMatchObject({ state: "cancelled", turns: { cancelled: 6 }, casesDone: 1 });
    const told = await test.hub.db.command.count({ where: { kind: "bench-end" } });
    expect(told).toBeGreaterThan(0);
  });

  it("gives the place of a node that has become silent to the next one, and its turn stays its own", async () => {
    const id = await start({ perBucket: 1, targets: targets({ profileIds: [profiles[0]] }) });
    await runBenchmarks(test.hub);
    const [first] = await running(id);
    if (first === undefined) throw new Error("nothing runs");
    await runBenchmarks(test.hub);
    expect(await running(id)).toHaveLength(1);
    const others = nodes.filter(({ nodeId }) => nodeId !== first.nodeId);
    test.advance(60_000);
    await stayOnline(others);
    await markSilentNodes(test.hub);
    await runBenchmarks(test.hub);
    const now = await running(id);
    expect(now.map(({ nodeId }) => nodeId)).toContain(first.nodeId);
    expect(now).toHaveLength(2);
    await stayOnline(nodes);
    expect(await asNode(first.nodeId).benchTurn({ turnId: first.id })).toMatchObject({ turnId: first.id });
  });

  it("does not wait for ever for a node that died: its turn has failed, and what it left in the bucket is removed", async () => {
    const id = await start({ targets: targets({ profileIds: [profiles[0]], scope: { nodes: "gpu-1" } }) });
    await runBenchmarks(test.hub);
    const [turn] = await running(id);
    if (turn === undefined) throw new Error("nothing runs");
    const { client, access } = await test.hub.stores.open(turn.profileId);
    const folder = benchFolder(turn.prefix, turn.id);
    await putObjectText(client, { bucket: access.bucket, key: `${folder}reference`, text: "left behind" });
    await putObjectText(client, { bucket: access.bucket, key: `${turn.prefix}runs/mine`, text: "not of a benchmark" });
    await cleanTurns(test.hub);
    const lying = async () => {
      const keys: string[] = [];
      for await (const { key } of listObjects(client, { bucket: access.bucket, prefix: turn.prefix })) keys.push(key);
      return keys;
    };
    expect(await lying()).toContain(`${folder}reference`);
    test.advance(3_600_000);
    await runBenchmarks(test.hub);
    await cleanTurns(test.hub);
    expect(await as("viewer").get({ id })).toMatchObject({
      state: "done",
      turns: { failed: 1 },
      turnList: [{ fault: { code: "INTERRUPTED" }, isClean: true }],
    });
    expect(await lying()).toEqual([`${turn.prefix}runs/mine`]);
    // A signature that it still had was used afterwards.
    await putObjectText(client, { bucket: access.bucket, key: `${folder}late`, text: "late" });
    test.advance(2 * 3_600_000);
    await cleanTurns(test.hub);
    expect(await lying()).toEqual([`${turn.prefix}runs/mine`]);
  });

  it("gives up nodes that never came back, once all else has ended", async () => {
    const id = await start();
    for (const { nodeId } of nodes) {
      const live = test.hub.live.nodes.get(nodeId);
      if (live !== undefined) live.presence = "silent";
    }
    await runBenchmarks(test.hub);
    expect(await running(id)).toEqual([]);
    test.advance(700_000);
    await runBenchmarks(test.hub);
    await runBenchmarks(test.hub);
    expect(await as("viewer").get({ id })).toMatchObject({ state: "done", turns: { failed: 6 } });
  });
});
