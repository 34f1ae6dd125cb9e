import { afterEach, beforeEach, expect, test } from "vitest";
import { decide } from "#protocol/links/decide-link.ts";
import { NO_THRESHOLDS, type LinkThresholds } from "#protocol/links/probe.ts";
import { randomFrom } from "#protocol/base/random-from.ts";
import { recall } from "#protocol/links/recall-machine.ts";
import { replayStarts, type Fate } from "#protocol/links/replay-thresholds.ts";
import { toReplay, type StartsInput } from "#protocol/links/thresholds.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  openTestHub,
  type TestHub,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { newId } from "#server/platform/random-id.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
let testHub: TestHub;
let profiles: string[];
let nodes: TestNode[];
beforeEach(async () => {
  testHub = await openTestHub();
  const { hub } = testHub;
  profiles = [await addTestProfile(hub, "http://127.0.0.1:9")];
  profiles.push(await addTestProfile(hub, "http://127.0.0.1:10", { name: "other" }));
  nodes = await Promise.all(
    Array.from({ length: 12 }, (_, at) => addTestNode(hub, profiles[at % 2] ?? "", `gpu-${at}`)),
  );
});
afterEach(() => testHub.close());

const OVER_DAYS: StartsInput = { over: { of: "days", days: 30 }, profileId: null };
const replayed = async (thresholds: LinkThresholds, input = OVER_DAYS): Promise<Fate[]> => {
  const answer = await callAs(testHub.hub, "viewer").thresholds.starts(input);
  const { starts, earlier } = toReplay(answer);
  return replayStarts(starts, { thresholds, limits: answer.limits, earlier });
};

interface Measuring {
  machineId: string | null;
  up: number;
  down?: number;
  rttMs?: number;
  isSteady?: boolean;
}

/** What a worker does at its start, with the hub as it is; resolves to what became of it. */
async function startWorker(node: TestNode, measuring: Measuring, thresholds: LinkThresholds): Promise<Fate> {
  const { machineId, up, down = 9e6, rttMs = 30, isSteady = true } = measuring;
  const hub = callAs(testHub.hub, node.caller).node;
  const target = await hub.probeTarget({ machineId });
  if (recall(target.machine, thresholds)?.outcome === "accept") return "known";
  const rate = (bytesPerSecond: number) => ({ rate: { bytesPerSecond, isSteady } });
  const verdict = decide({ up: rate(up), down: rate(down), rttMs, clockSkewMs: 0 }, thresholds);
  const way = { rampMs: 1, isSteady, movedBytes: 1, connections: 8 };
  const manner = { engine: "tidemark", up: way, down: way };
  const found = { rttMs, clockSkewMs: 0, up, down, thresholds, attempts: 1, tookMs: 20_000, manner };
  const id = newId();
  await hub.probed({ id, machineId, ...verdict, ...found });
  if (verdict.outcome !== "reject") return verdict.outcome;
  if (machineId === null) return "ends";
  const answer = await hub.mayReallocate({ requestId: newId(), machineId, probeId: id });
  if (answer.allowed) return "given-back";
  if (answer.reason.includes("budget") || answer.reason.includes("reallocates nobody")) return "budget";
  return answer.reason.includes("endpoint") ? "quorum" : "cooldown";
}

test("a replay of what is stored says of every start what the hub and the worker made of it", async () => {
  const thresholds = { up: 3e6, down: 6e6, rttMs: 200 };
  testHub.hub.settings.reallocation.perHour = 3;
  const random = randomFrom(20_260_731);
  const happened: Fate[] = [];
  const givenBack = new Map<string, number>();
  let rested = 0;
  for (let turn = 0; turn < 90; turn++) {
    const pauseMs = Math.floor(random() ** 6 * 2 * HOUR_MS);
    rested += pauseMs;
    testHub.advance(pauseMs);
    const node = nodes[Math.floor(random() * nodes.length)];
    const machineId = random() < 0.15 ? null : `machine-${Math.floor(random() * 40)}`;
    if (node === undefined) continue;
    // The platform does not hand out a machine that was given back.
    const gone = machineId === null ? undefined : givenBack.get(machineId);
    if (gone !== undefined && testHub.hub.now() - gone < 48 * HOUR_MS) continue;
    const measuring = { up: random() * 8e6, down: 4e6 + random() * 3e7, rttMs: random() * 260 };
    const fate = await startWorker(node, { machineId, isSteady: random() < 0.9, ...measuring }, thresholds);
    if (fate === "given-back" && machineId !== null) givenBack.set(machineId, testHub.hub.now());
    if (fate !== "known") happened.push(fate);
  }
  expect(rested).toBeLessThan(30 * 24 * HOUR_MS);
  expect(await replayed(thresholds)).toEqual(happened);
  expect(happened).toEqual(expect.arrayContaining(["accept", "warn", "given-back", "ends"]));
  expect(happened.some((fate) => fate === "budget" || fate === "quorum")).toBe(true);
});

test("other thresholds are replayed over the same measurements", async () => {
  for (const [at, node] of nodes.entries()) {
    await startWorker(node, { machineId: `machine-${at}`, up: (at + 1) * 1e6 }, NO_THRESHOLDS);
    testHub.advance(20 * MINUTE_MS);
  }
  const rejectedAt = async (up: number) =>
    (await replayed({ ...NO_THRESHOLDS, up })).filter((fate) => fate === "given-back").length;
  expect(await rejectedAt(1e6)).toBe(0);
  expect(await rejectedAt(5e6)).toBe(4);
  expect((await replayed({ ...NO_THRESHOLDS, rttMs: 10 })).every((fate) => fate !== "accept")).toBe(true);
});

test("of the last nodes each machine counts with its newest measurement, of a bucket or of all", async () => {
  const [first, second, third] = nodes;
  if (first === undefined || second === undefined || third === undefined) throw new Error("there are twelve");
  await startWorker(first, { machineId: "a", up: 1e6 }, { ...NO_THRESHOLDS, up: 5e6 });
  testHub.advance(HOUR_MS);
  await startWorker(third, { machineId: "a", up: 4e6 }, { ...NO_THRESHOLDS, up: 5e6 });
  await startWorker(second, { machineId: null, up: 7e6 }, NO_THRESHOLDS);
  const starts = (most: number, profileId: string | null = null) =>
    callAs(testHub.hub, "viewer").thresholds.starts({ over: { of: "nodes", most }, profileId });
  const all = await starts(10);
  expect(all.rows.map(([, , , , , up]) => up)).toEqual([4e6, 7e6]);
  expect(all.nodes.map(({ name }) => name)).toEqual(["gpu-2", "gpu-1"]);
  expect(toReplay(all).starts.map(({ isRented }) => isRented)).toEqual([true, false]);
  expect((await starts(1)).rows.map(([, , , , , up]) => up)).toEqual([7e6]);
  expect((await starts(10, profiles[0])).rows.map(([, , , , , up]) => up)).toEqual([4e6]);
  expect(all).toMatchObject({ isCut: false, limits: { perHour: 10 }, now: { version: 0, setBy: null } });
});

test("what was given back before the first row is still away in the replay", async () => {
  const [first] = nodes;
  if (first === undefined) throw new Error("there are twelve");
  const asked = { ...NO_THRESHOLDS, up: 5e6 };
  expect(await startWorker(first, { machineId: "a", up: 1e6 }, asked)).toBe("given-back");
  testHub.advance(30 * HOUR_MS);
  await startWorker(first, { machineId: "a", up: 9e6 }, NO_THRESHOLDS);
  expect(await replayed(asked, { over: { of: "days", days: 1 }, profileId: null })).toEqual(["away"]);
});

test("thresholds are set once, told to every node, written down, and kept over a restart", async () => {
  const operator = callAs(testHub.hub, "operator").thresholds;
  const [node] = nodes;
  if (node === undefined) throw new Error("there are twelve");
  const told = async () => (await callAs(testHub.hub, node.caller).node.probeTarget({ machineId: null })).thresholds;
  expect(await told()).toEqual(NO_THRESHOLDS);
  const thresholds = { up: 2_500_000, down: 6_250_000, rttMs: 150 };
  const set = await operator.set({ thresholds, version: 0 });
  expect(set).toMatchObject({ ...thresholds, version: 1, setBy: "operator@example.com" });
  await expect(operator.set({ thresholds: NO_THRESHOLDS, version: 0 })).rejects.toEqual(fault("CONFLICT"));
  const { rows } = await callAs(testHub.hub, "admin").audit.list({ action: "link thresholds set" });
  expect(rows[0]).toMatchObject({
    action: "link thresholds set",
    subject: "20.0 Mbps up, 50.0 Mbps down, round trip 150 ms",
  });
  await testHub.restart();
  expect(await told()).toEqual(thresholds);
  expect(await callAs(testHub.hub, "viewer").thresholds.get()).toEqual(set);
});
