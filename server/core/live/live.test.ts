import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { changeNode } from "#protocol/fleet/node-changes.ts";
import { runName } from "#protocol/base/names.ts";
import type { RunBacklog } from "#protocol/wire/reports.ts";
import type { LiveMessage, NodeRow } from "#protocol/wire/views.ts";
import { openSession } from "../accounts/auth/session.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  facts,
  openTestHub,
  report,
  type TestHub,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { writeMinute } from "../history/write-minute.ts";
import { hashOf, newId } from "#server/platform/random-id.ts";
import type { Caller } from "../api/caller.ts";
import { markSilentNodes, rollHistory } from "#server/http/tick.ts";

let test: TestHub;
let node: TestNode;
let viewer: Caller;
beforeEach(async () => {
  test = await openTestHub();
  const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  node = await addTestNode(test.hub, profileId, "gpu-1");
  await test.hub.db.user.create({
    data: { id: "user", email: "v@example.com", role: "viewer", passwordHash: "", createdAt: new Date() },
  });
  const secret = /=(tms_[^;]+)/.exec(await openSession(test.hub, "user"))?.[1] ?? "";
  viewer = {
    kind: "person",
    person: { id: "user", email: "v@example.com", role: "viewer" },
    sessionHash: hashOf(secret),
  };
});
afterEach(() => test.close());

async function watch() {
  const answer = await callAs(test.hub, viewer).live.watch();
  const stream = (answer as AsyncIterable<LiveMessage>)[Symbol.asyncIterator]();
  const next = async (): Promise<LiveMessage> => {
    const { value, done } = await stream.next();
    if (done === true) throw new Error("the stream has ended");
    return value;
  };
  return {
    next,
    /** The next message of a kind. */
    until: async <T extends LiveMessage["type"]>(type: T): Promise<Extract<LiveMessage, { type: T }>> => {
      for (;;) {
        const message = await next();
        if (message.type === type) return message as Extract<LiveMessage, { type: T }>;
      }
    },
    end: () => stream.return?.(undefined),
  };
}

const backlog = (changes: Partial<RunBacklog> = {}): RunBacklog => ({
  run: runName.parse("llama"),
  writerEpoch: 1,
  unsafeCheckpoints: 1,
  unsafeFiles: 2,
  unsafeBytes: 3_000,
  movedBytes: 1_000,
  oldestUnsafeAt: test.hub.now() - 60_000,
  safeStep: 400,
  safeAt: test.hub.now() - 600_000,
  safeBytes: 5_000,
  localStep: 500,
  localAt: test.hub.now() - 60_000,
  startedAt: test.hub.now() - 6_000_000,
  intervalMs: 540_000,
  trainedStep: null,
  trainedAt: null,
  idleMs: 0,
  leastIntervalMs: null,
  ...changes,
});
const say = (changes: object) => callAs(test.hub, node.caller).node.progress({ ...report(test.hub), ...changes });

describe("a browser's stream", () => {
  it("begins with everything", async () => {
    const stream = await watch();
    const [first, second, third] = [await stream.next(), await stream.next(), await stream.next()];
    expect(first).toMatchObject({ type: "fleet", fleet: { nodes: 1, online: 1 } });
    expect(second).toMatchObject({ type: "nodes", nodes: [{ name: "gpu-1" }] });
    expect(third).toEqual({ type: "transfers", whole: true, transfers: [] });
    await stream.end();
  });

  it("tells one that comes back what happened while it was away", async () => {
    const first = await watch();
    await first.until("events");
    await first.end();
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    const second = await watch();
    expect((await second.until("events")).events.at(-1)).toMatchObject({ kind: "node-revoked" });
    await second.end();
  });

  it("then says what changed, and only that", async () => {
    const profileId = test.hub.live.nodes.get(node.nodeId)?.profileId ?? "";
    await addTestNode(test.hub, profileId, "gpu-2");
    const stream = await watch();
    await stream.until("transfers");
    await say({ upBytesPerSecond: 7_000, runs: [backlog()] });
    const { fleet } = await stream.until("fleet");
    expect(fleet.upBytesPerSecond).toBe(7_000);
    expect(fleet.risk).toMatchObject({ bytes: 3_000, files: 2, checkpoints: 1, steps: 100 });
    expect(fleet.worstNode).toMatchObject({ name: "gpu-1" });
    const { joined, changed } = await stream.until("node-changes");
    expect([joined, changed.map(({ id }) => id)]).toEqual([[], [node.nodeId]]);
    expect(changed[0]).toMatchObject({ safeBytes: 5_000, movedBytes: 1_000, work: "moving", upBytesPerSecond: 7_000 });
    for (const same of ["name", "facts", "fleet", "disk", "upHistory"]) expect(changed[0]).not.toHaveProperty(same);
    await stream.end();
  });

  it("says the same of a node to all, whenever each began, and all of one that joined", async () => {
    const follow = async () => {
      const stream = await watch();
      const told = new Map((await stream.until("nodes")).nodes.map((row): [string, NodeRow] => [row.id, row]));
      const hear = async (): Promise<void> => {
        for (;;) {
          const { joined, changed } = await stream.until("node-changes");
          for (const row of joined) told.set(row.id, row);
          for (const change of changed) {
            const row = told.get(change.id);
            if (row === undefined) throw new Error("a change of a node that was not told");
            told.set(change.id, changeNode(row, change));
          }
        }
      };
      // Ends with the hub.
      hear().catch(() => undefined);
      return told;
    };
    const early = await follow();
    const heard = (id: string) => expect.poll(() => early.get(id));
    await say({ upBytesPerSecond: 7_000, runs: [backlog()] });
    await heard(node.nodeId).toMatchObject({ upBytesPerSecond: 7_000, runs: [{ safeStep: 400 }] });
    test.advance(3_000);
    const late = await follow();
    const same = () => expect.poll(() => late);
    await same().toEqual(early);
    await say({ upBytesPerSecond: 7_000, cpuPercent: 12, runs: [backlog({ safeStep: 500 })] });
    await heard(node.nodeId).toMatchObject({ cpuPercent: 12, runs: [{ safeStep: 500 }] });
    await same().toEqual(early);
    const profileId = test.hub.live.nodes.get(node.nodeId)?.profileId ?? "";
    const added = await addTestNode(test.hub, profileId, "gpu-2");
    await heard(added.nodeId).toMatchObject({ name: "gpu-2", facts: { hostname: facts.hostname } });
    await same().toEqual(early);
    expect(late.size).toBe(2);
  });

  it("carries new events and names the lists they made stale", async () => {
    const stream = await watch();
    await stream.until("events");
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    expect((await stream.until("events")).events.map(({ kind }) => kind)).toEqual(["node-revoked"]);
    expect((await stream.until("stale")).topics).toContain("events");
    await stream.end();
  });

  it("makes the nodes report every second, and lets them slow down after it", async () => {
    expect(await say({})).toEqual({ settings: { reportEveryMs: 10_000, returnWithinMs: 500 } });
    const stream = await watch();
    await stream.next();
    expect(await say({})).toEqual({ settings: { reportEveryMs: 1_000, returnWithinMs: 500 } });
    await stream.end();
    test.hub.live.adaptCadence(test.hub.now());
    expect(await say({})).toEqual({ settings: { reportEveryMs: 1_000, returnWithinMs: 500 } });
    test.advance(5_001);
    test.hub.live.adaptCadence(test.hub.now());
    expect(await say({})).toEqual({ settings: { reportEveryMs: 10_000, returnWithinMs: 500 } });
  });

  it("gives a sign of life every four seconds while nothing changes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const stream = await watch();
      await stream.until("events");
      const beat = stream.next();
      // The first look of the stream is asynchronous; its wait begins with the timer.
      await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0), 20_000);
      await vi.advanceTimersByTimeAsync(4_000);
      expect(await beat).toMatchObject({ type: "beat" });
      await stream.end();
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends when the session does", async () => {
    const stream = await watch();
    await stream.until("events");
    const rest = stream.until("beat").then(() => stream.until("events"));
    // Expected before it can happen: the stream ends before the answer to who signs out.
    const ends = expect(rest).rejects.toMatchObject({ cause: { code: "NOT_SIGNED_IN" } });
    await callAs(test.hub, viewer).auth.signOut();
    await ends;
  });

  it("ends with an error that means come back when the hub ends", async () => {
    const stream = await watch();
    await stream.until("events");
    const next = stream.until("events");
    test.startClosing();
    await expect(next).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
  });
});

describe("a node's card", () => {
  it("is named by its label when the machine cannot say", async () => {
    const labelled = { ...facts, gpu: null, labels: { gpu: "RTX 3090" } };
    await callAs(test.hub, node.caller).node.hello({ protocol: 1, bootId: newId(), facts: labelled });
    expect((await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).facts.gpu).toBe("RTX 3090");
    await callAs(test.hub, node.caller).node.hello({ protocol: 1, bootId: newId(), facts });
    expect((await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).facts.gpu).toBe("RTX 4090");
  });
});

describe("the fleet", () => {
  it("forgets the loss of a silent node whose run another node has taken over, the node does not", async () => {
    await say({ runs: [backlog()] });
    test.hub.live.writers.set("llama", { nodeId: node.nodeId, epoch: 1 });
    test.advance(31_000);
    await markSilentNodes(test.hub);
    expect(await test.hub.live.fleet(test.hub.now())).toMatchObject({
      silent: 1,
      byWork: { lost: 1 },
      risk: { bytes: 3_000 },
    });
    test.hub.live.writers.set("llama", { nodeId: "other", epoch: 2 });
    test.advance(1_000);
    expect((await test.hub.live.fleet(test.hub.now())).risk.bytes).toBe(0);
    const row = await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId });
    expect(row).toMatchObject({ work: "lost", risk: { bytes: 3_000 }, runs: [{ isWriter: false }] });
  });

  it("counts nothing as lost of a node that stopped once another node has taken its run over", async () => {
    await say({ runs: [backlog()] });
    test.hub.live.writers.set("llama", { nodeId: node.nodeId, epoch: 1 });
    await callAs(test.hub, node.caller).node.goodbye();
    const row = () => callAs(test.hub, "viewer").nodes.get({ id: node.nodeId });
    expect(await row()).toMatchObject({ state: "offline", work: "lost" });
    test.hub.live.writers.set("llama", { nodeId: "other", epoch: 2 });
    test.advance(1_000);
    expect(await row()).toMatchObject({ work: "safe", runs: [{ isWriter: false }] });
    expect((await test.hub.live.fleet(test.hub.now())).byWork.lost).toBe(0);
  });

  it("counts what a node would lose by that node's clock, growing between reports", async () => {
    await say({ at: 1_000_000, runs: [backlog({ safeAt: 940_000, localAt: 990_000, startedAt: 1 })] });
    const risk = async () => (await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId })).risk.lossMs;
    const before = await risk();
    test.advance(5_000);
    const after = await risk();
    expect(before).toBeGreaterThanOrEqual(60_000);
    expect(after - before).toBeGreaterThanOrEqual(5_000);
    test.advance(31_000);
    await markSilentNodes(test.hub);
    expect(await risk()).toBe(60_000);
  });
});

describe("history", () => {
  it("keeps thirty points of a node's upload rate", async () => {
    await say({ upBytesPerSecond: 100 });
    await say({ upBytesPerSecond: 300 });
    rollHistory(test.hub, "all");
    rollHistory(test.hub, "all");
    const { upHistory } = await callAs(test.hub, "viewer").nodes.get({ id: node.nodeId });
    expect(upHistory).toHaveLength(30);
    expect(upHistory.slice(-3)).toEqual([0, 200, 0]);
  });

  it("adds the nodes up minute by minute, and leaves gaps where nothing was heard", async () => {
    const profileId = test.hub.live.nodes.get(node.nodeId)?.profileId ?? "";
    const second = await addTestNode(test.hub, profileId, "gpu-2");
    await say({ upBytesPerSecond: 100, runs: [backlog()], rttMs: 20 });
    await callAs(test.hub, second.caller).node.progress({ ...report(test.hub), upBytesPerSecond: 50, rttMs: 40 });
    await writeMinute(test.hub, test.hub.now());
    test.advance(60_000);
    await writeMinute(test.hub, test.hub.now());
    expect(await test.hub.db.fleetMinute.count()).toBe(1);
    const fleet = await callAs(test.hub, "viewer").fleet.samples({ minutes: 10 });
    expect(fleet).toHaveLength(1);
    expect(fleet[0]).toMatchObject({ upBytesPerSecond: 150, atRiskBytes: 3_000, rttMs: 30 });
    const own = await callAs(test.hub, "viewer").nodes.samples({ id: second.nodeId, minutes: 10 });
    expect(own[0]).toMatchObject({ upBytesPerSecond: 50, atRiskBytes: 0, rttMs: 40 });
  });

  it("keeps one point of a node when a minute is written twice", async () => {
    const at = Math.ceil(test.hub.now() / 60_000) * 60_000;
    await say({ upBytesPerSecond: 100 });
    await writeMinute(test.hub, at);
    await say({ upBytesPerSecond: 300 });
    await writeMinute(test.hub, at + 59_999);
    expect(await callAs(test.hub, "viewer").nodes.samples({ id: node.nodeId, minutes: 10 })).toMatchObject([
      { upBytesPerSecond: 300 },
    ]);
  });
});
