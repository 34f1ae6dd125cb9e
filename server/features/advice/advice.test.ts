import { expect, it } from "vitest";
import { USUAL_SETTINGS } from "#protocol/benchmarks/plan-input.ts";
import { PROTOCOL_VERSION } from "#protocol/base/version.ts";
import { end, linkForEach, profileId, run, say, steady, test } from "#server/testing/link-for-each.ts";
import { fault } from "#server/testing/match-fault.ts";
import { addTestNode, callAs, facts, type TestNode } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
linkForEach();

interface Upload {
  up?: number;
  late?: number;
  partBytes?: number;
}

/** So many uploads of half a minute each. */
async function upload(node: TestNode, count: number, { up = 10e6, late = up, partBytes = 16 * MIB }: Upload) {
  const burst = { firstBytesPerSecond: up, lateBytesPerSecond: late };
  const measured = steady(up, { tookMs: 30_000, sentBytes: 30 * up, partBytes, burst });
  for (let made = 0; made < count; made++) await end(node, { bytes: 512 * MIB, ...measured });
}

const list = (nodeId: string | null = null) => callAs(test.hub, "viewer").advice.list({ nodeId });

it("a hub without a history has nothing to say", async () => {
  expect(await list()).toMatchObject({ advice: [], up: { rates: [], nodes: 0 }, rows: 0, oneIn: 1 });
  expect(await list("nobody-of-that-name")).toMatchObject({ advice: [] });
});

it("what transfers tell becomes advice with its node, its evidence and its sample, in the list and for the node alone", async () => {
  const [slow, fine] = [await addTestNode(test.hub, profileId, "slow"), await addTestNode(test.hub, profileId, "fine")];
  await upload(slow, 6, { late: 2e6 });
  await upload(fine, 6, {});
  const { advice, rows, up } = await list();
  expect(advice).toMatchObject([
    { kind: "throttled", node: slow.nodeId, nodeName: "slow", profileName: "training", samples: 6, least: 5 },
  ]);
  expect([rows, up]).toEqual([12, { rates: [], nodes: 2, samples: 10, ofBenchmarks: 0, least: 5 }]);
  expect((await list(slow.nodeId)).advice).toEqual(advice);
  expect((await list(fine.nodeId)).advice).toEqual([]);
  await callAs(test.hub, "admin").nodes.revoke({ id: slow.nodeId });
  expect((await list()).advice).toEqual([]);
});

/** One benchmark of this node's, with the rate of each case. */
async function benchmark(
  node: TestNode,
  cases: { engine: string; way: string; rate: number | null; bytes?: number }[],
) {
  const at = new Date(test.hub.now());
  const [id, turnId] = [newId(), newId()];
  const settings = { ...USUAL_SETTINGS, engines: ["tidemark"], rounds: 20 };
  const rest = { name: "all", state: "done", targets: "{}", perBucket: 1, seed: 1n, actor: "somebody" };
  await test.hub.db.benchmark.create({ data: { id, ...rest, settings: JSON.stringify(settings), startedAt: at } });
  const place = { nodeId: node.nodeId, nodeName: "any", nodeRegion: "eu", profileId, profileName: "training" };
  const turn = { position: 0, storeRegion: "us-east-1", prefix: "", state: "running", startedAt: at, ...place };
  await test.hub.db.benchTurn.create({ data: { id: turnId, benchmarkId: id, ...turn } });
  await callAs(test.hub, node.caller).node.benchBegin({ turnId, rttMs: 170, engines: [] });
  for (const [round, { engine, way, rate, bytes = 300_000_000 }] of cases.entries()) {
    const told = { bytes: BigInt(bytes), tookMs: 1, bytesPerSecond: rate, log: "", at };
    await test.hub.db.benchCase.create({ data: { turnId, engine, direction: way, round, ...told } });
  }
}

it("a node that only benchmarks have measured gets advice from Tidemark's own cases, and none from what other engines did", async () => {
  const node = await addTestNode(test.hub, profileId, "measured");
  const both = (engine: string, [up, down]: [number, number]) => [
    { engine, way: "up", rate: up },
    { engine, way: "down", rate: down },
  ];
  const wild: [number, number] = [1e6, 90e6];
  const others = [...both("sdk", wild), ...both("rclone", wild), ...both("s5cmd", wild)];
  const small = [1, 2, 3].flatMap(() => both("tidemark", wild).map((one) => ({ ...one, bytes: 5e6 })));
  await benchmark(node, [...others, ...small, { engine: "tidemark", way: "up", rate: null }]);
  expect(await list()).toMatchObject({ advice: [], rows: 0, benchRows: 1 });
  expect(await list(node.nodeId)).toMatchObject({ advice: [], benchRows: 1 });
  const own = ["tidemark", "tidemark-auto", "tidemark-auto"].flatMap((engine) => both(engine, [2e6, 40e6]));
  for (let count = 0; count < 4; count++) await benchmark(node, own);
  const evidence = { node: node.nodeId, profileName: "training", nodes: 1 };
  const found = [
    { kind: "asymmetric", ...evidence, samples: 24, ofBenchmarks: 24 },
    { kind: "far", ...evidence, samples: 5, ofBenchmarks: 5 },
  ];
  const { advice, up } = await list(node.nodeId);
  expect(advice).toMatchObject(found);
  expect(up).toMatchObject({ nodes: 1, samples: 5, ofBenchmarks: 5 });
  // Asked of all, an answer stands for a while.
  test.advance(3_600_000);
  expect((await list()).advice).toMatchObject(found);
  await upload(node, 3, { up: 2e6 });
  expect((await list(node.nodeId)).advice).toMatchObject([{ kind: "asymmetric", samples: 27, ofBenchmarks: 24 }, {}]);
});

it("what older workers tell, without a burst, leads to no advice about bursts", async () => {
  const node = await addTestNode(test.hub, profileId, "old");
  const probe = { id: newId(), machineId: null, outcome: "accept" as const, reason: "", rttMs: 200, clockSkewMs: 0 };
  const told = { up: 1e6, down: 30e6, thresholds: { up: null, down: null }, attempts: 1, tookMs: 1 };
  for (let count = 0; count < 5; count++) {
    await callAs(test.hub, node.caller).node.probed({ ...probe, ...told, id: newId() });
  }
  expect((await list()).advice.map(({ kind }) => kind)).toEqual(["asymmetric", "far"]);
});

it("advice is put aside for a time with a reason that is written down, and brought back", async () => {
  const node = await addTestNode(test.hub, profileId, "slow");
  await upload(node, 6, { late: 2e6 });
  const [found] = (await list()).advice;
  const operator = callAs(test.hub, "operator").advice;
  const key = found?.key ?? "";
  await operator.dismiss({ key, reason: "rented for a week", forDays: 7 });
  const by = "operator@example.com";
  expect((await list()).advice).toMatchObject([{ key, dismissal: { reason: "rented for a week", by } }]);
  test.advance(7 * DAY_MS);
  expect((await list()).advice).toMatchObject([{ key, dismissal: null }]);
  await operator.dismiss({ key, reason: "known", forDays: null });
  test.advance(15 * DAY_MS);
  expect((await list()).advice).toMatchObject([{ dismissal: { reason: "known", until: null } }]);
  await operator.bringBack({ key });
  expect((await list()).advice).toMatchObject([{ dismissal: null }]);
  await expect(operator.bringBack({ key })).rejects.toEqual(fault("NOT_FOUND"));
  const { rows } = await callAs(test.hub, "admin").audit.list({});
  expect(rows.map(({ action }) => action).filter((action) => action.startsWith("advice"))).toEqual([
    "advice brought back",
    "advice dismissed",
    "advice dismissed",
  ]);
});

it("a better part size becomes the profile's with one call, and nodes are told of it", async () => {
  const nodes = await Promise.all([1, 2, 3].map((number) => addTestNode(test.hub, profileId, `gpu-${number}`)));
  for (const [index, node] of nodes.entries()) {
    const up = 4 ** index * 1e6;
    await upload(node, 14, { up });
    await upload(node, 8, { up: up * 1.5, partBytes: 64 * MIB });
  }
  const admin = callAs(test.hub, "admin").advice;
  const [found] = (await list()).advice;
  expect(found).toMatchObject({ kind: "part-size", better: { partBytes: 64 * MIB }, samples: 66, nodes: 3 });
  await admin.take({ key: found?.key ?? "" });
  const [first] = nodes;
  const hello = { protocol: PROTOCOL_VERSION, bootId: newId(), facts };
  const answer = await callAs(test.hub, first?.caller ?? "viewer").node.hello(hello);
  expect(answer).toMatchObject({ store: { traits: { tunedPartBytes: 64 * MIB } } });
  const [profile] = await callAs(test.hub, "viewer").profiles.list();
  expect(profile?.about.tuning).toEqual({ partBytes: 64 * MIB, connections: null });
  await expect(admin.take({ key: "part-size of another" })).rejects.toEqual(fault("NOT_FOUND"));
});

it("advice that is no setting cannot be taken", async () => {
  await upload(await addTestNode(test.hub, profileId, "slow"), 6, { late: 2e6 });
  const [found] = (await list()).advice;
  await expect(callAs(test.hub, "admin").advice.take({ key: found?.key ?? "" })).rejects.toEqual(fault("BAD_INPUT"));
});

it("a run that saves more often than its uplink carries away is found as soon as its node says so", async () => {
  const node = await addTestNode(test.hub, profileId, "slow");
  await upload(node, 3, { up: 1e6 });
  const runs = [
    {
      run,
      writerEpoch: 1,
      unsafeCheckpoints: 2,
      unsafeFiles: 2,
      unsafeBytes: 1_200e6,
      movedBytes: 0,
      oldestUnsafeAt: test.hub.now(),
      safeStep: null,
      safeAt: null,
      safeBytes: 600e6,
      localStep: null,
      localAt: null,
      startedAt: 1,
      intervalMs: 60_000,
    },
  ];
  await say(node, { runs });
  expect((await list()).advice).toMatchObject([{ kind: "interval", nodeName: "slow", run: "llama", samples: 3 }]);
});
