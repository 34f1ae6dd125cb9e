import { afterEach, beforeEach, expect, it } from "vitest";
import type { LiveMessage } from "#protocol/wire/views.ts";
import { openSession } from "../accounts/auth/session.ts";
import { addTestProfile, callAs, facts, openTestHub, report, type TestHub } from "#server/testing/open-test-hub.ts";
import { hashOf, newId } from "#server/platform/random-id.ts";
import { markSilentNodes } from "#server/http/tick.ts";
import { writeDown } from "./write-down.ts";

/** What holds for one node holds for thousands, without anybody waiting for all of them. */
const NODES = 1_200;

let test: TestHub;
beforeEach(async () => {
  test = await openTestHub();
  const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  const rows = Array.from({ length: NODES }, (_, index) => ({
    id: newId(),
    name: `gpu-${index}`,
    credentialHash: `hash-${index}`,
    profileId,
    facts: JSON.stringify(facts),
    enrolledAt: new Date(test.hub.now()),
    acceptedSeq: 0,
    lastSeenAt: new Date(test.hub.now()),
  }));
  await test.hub.db.node.createMany({ data: rows });
  await test.restart();
});
afterEach(() => test.close());

const nodes = () => [...test.hub.live.nodes.values()];

it("each of them that falls silent in one moment gets its line, once, and is silent after a restart too", async () => {
  test.advance(31_000);
  await Promise.all([markSilentNodes(test.hub), markSilentNodes(test.hub)]);
  await markSilentNodes(test.hub);
  const lines = await test.hub.db.event.findMany({ where: { kind: "node-silent" } });
  expect(new Set(lines.map(({ nodeId }) => nodeId)).size).toBe(NODES);
  expect(lines.length).toBe(NODES);
  await test.restart();
  expect(nodes().filter(({ presence }) => presence === "silent").length).toBe(NODES);
});

it("one that speaks while the others are written down is not called silent", async () => {
  test.advance(31_000);
  const last = nodes().at(-1);
  if (last === undefined) throw new Error("no node");
  const noticing = markSilentNodes(test.hub);
  last.quietSince = test.hub.now();
  await noticing;
  expect(last.presence).not.toBe("silent");
  expect(nodes().filter(({ presence }) => presence === "silent").length).toBe(NODES - 1);
});

it("they are asked for fewer reports the more they are, watched or not", async () => {
  const leave = test.hub.live.enter(test.hub.now, "somebody");
  expect(test.hub.live.settings.reportEveryMs).toBe(NODES);
  leave();
  test.advance(6_000);
  test.hub.live.adaptCadence(test.hub.now());
  expect(test.hub.live.settings.reportEveryMs).toBe(10_000);
});

it("they come back over a time that grows with them, also to a hub that has just begun", async () => {
  test.hub.live.adaptCadence(test.hub.now());
  expect(test.hub.live.settings.returnWithinMs).toBe(NODES * 10);
  await test.restart();
  expect(test.hub.live.settings.returnWithinMs).toBe(NODES * 10);
  test.advance(31_000);
  await markSilentNodes(test.hub);
  test.hub.live.adaptCadence(test.hub.now());
  expect(test.hub.live.settings.returnWithinMs).toBe(500);
});

it("what a few said last is written down together, when the oldest of it is old enough", async () => {
  const few = nodes().slice(0, 3);
  for (const [index, node] of few.entries()) {
    node.report = { ...report(test.hub), logTail: null };
    node.writtenAt = test.hub.now() + index * 5_000;
    node.dirty = true;
  }
  const written = () => test.hub.db.node.count({ where: { lastReport: { not: null } } });
  // The clock of a test goes on by itself too.
  test.advance(5_000);
  await writeDown(test.hub, "due");
  expect(await written()).toBe(0);
  test.advance(10_000);
  await writeDown(test.hub, "due");
  expect(await written()).toBe(few.length);
});

it("what they said last is written down some at a time, the oldest first, and all of it in the end", async () => {
  for (const node of nodes()) {
    node.report = { ...report(test.hub), logTail: null };
    node.lastSeenAt = test.hub.now();
    node.dirty = true;
  }
  test.advance(15_000);
  const written = () => test.hub.db.node.count({ where: { lastReport: { not: null } } });
  await writeDown(test.hub, "due");
  const first = await written();
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(NODES);
  await writeDown(test.hub, "everything");
  expect(await written()).toBe(NODES);
  await test.restart();
  expect(nodes().every((node) => node.report !== null)).toBe(true);
  expect((await callAs(test.hub, "viewer").nodes.list()).length).toBe(NODES);
});

it("a page is told what changed of them in a few messages of like size, and nothing is left out", async () => {
  await test.hub.db.user.create({
    data: { id: "user", email: "v@example.com", role: "viewer", passwordHash: "", createdAt: new Date() },
  });
  const secret = /=(tms_[^;]+)/.exec(await openSession(test.hub, "user"))?.[1] ?? "";
  const person = { id: "user", email: "v@example.com", role: "viewer" as const };
  const viewer = { kind: "person" as const, person, sessionHash: hashOf(secret) };
  const stream = ((await callAs(test.hub, viewer).live.watch()) as AsyncIterable<LiveMessage>)[Symbol.asyncIterator]();
  const nextNodes = async () => {
    for (;;) {
      const { value } = await stream.next();
      if (value?.type === "nodes") return value.nodes;
      if (value?.type === "node-changes") return [...value.joined, ...value.changed];
    }
  };
  // The whole fleet comes in a few messages too: whoever else asks is answered between them.
  const joined = new Set<string>();
  while (joined.size < NODES) {
    const some = await nextNodes();
    expect(some.length).toBeLessThanOrEqual(500);
    for (const { id } of some) joined.add(id);
  }
  for (const node of nodes()) {
    node.profileName = "other";
    test.hub.live.touchNode(node);
  }
  const told = new Map<string, number>();
  while (told.size < NODES) {
    const some = await nextNodes();
    expect(some.length).toBeLessThanOrEqual(200);
    for (const { id, profileName } of some) expect([id, profileName]).toEqual([id, "other"]);
    for (const { id } of some) told.set(id, (told.get(id) ?? 0) + 1);
  }
  expect(Math.max(...told.values())).toBe(1);
  await stream.return?.(undefined);
});
