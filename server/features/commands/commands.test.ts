import { describe, expect, it } from "vitest";
import type { NodeEvent } from "#protocol/wire/reports.ts";
import { node, nodeForEach, profileId, test } from "#server/testing/node-for-each.ts";
import { addTestNode, callAs, facts, type TestNode } from "#server/testing/open-test-hub.ts";
import { newId } from "#server/platform/random-id.ts";
import { expireCommands } from "./expire.ts";

nodeForEach();

const send = (changes: object = {}) =>
  callAs(test.hub, "operator").commands.send({
    requestId: newId(),
    to: { nodeIds: [node.nodeId] },
    order: { kind: "hold" },
    ...changes,
  });
const list = async (changes: object = {}) => (await callAs(test.hub, "viewer").commands.list(changes)).rows;

/** The commands that a node hears of when it connects: all that come before what is said last. */
async function heard(of: TestNode = node): Promise<string[]> {
  const stream = await callAs(test.hub, of.caller).node.stream({ bootId: newId() });
  const ids: string[] = [];
  for await (const message of stream) {
    if (message.type === "settings") test.hub.live.send(of.nodeId, { type: "refresh" });
    if (message.type === "command") ids.push(message.command.id);
    if (message.type === "refresh") break;
  }
  return ids;
}

let seq = 0;
type Said = Extract<NodeEvent, { type: "command-ended" | "command-accepted" }>;
type Unnumbered<Event> = Event extends Event ? Omit<Event, "seq" | "at"> : never;
const say = (event: Unnumbered<Said>, by = node) =>
  callAs(test.hub, by.caller).node.record({ events: [{ ...event, seq: ++seq, at: test.hub.now() }] });

describe("a command", () => {
  it("is told to its node at each connection until the node says how it ended", async () => {
    const { sent } = await send();
    const commandId = sent[0]?.commandId ?? "";
    expect(await heard()).toEqual([commandId]);
    await say({ type: "command-accepted", commandId });
    expect(await list()).toMatchObject([{ id: commandId, state: "accepted", by: "operator@example.com" }]);
    expect(await heard()).toEqual([commandId]);
    await say({ type: "command-ended", commandId, outcome: "done", fault: null, detail: { uploads: 2 } });
    expect(await list()).toMatchObject([
      { state: "done", detail: { uploads: 2 }, order: { kind: "hold", run: null, direction: "both" } },
    ]);
    expect(await heard()).toEqual([]);
  });

  it("that the same request sends again is the same one", async () => {
    const requestId = newId();
    const first = await send({ requestId });
    expect((await send({ requestId })).sent[0]?.commandId).toBe(first.sent[0]?.commandId);
    expect(await list()).toHaveLength(1);
  });

  it("that was not accepted in time ends as expired, is not told any more, and is one line of history", async () => {
    await addTestNode(test.hub, profileId, "gpu-2");
    await send({ to: { filter: { scope: {} } }, validMs: 60_000 });
    test.advance(60_000);
    expect(await heard()).toEqual([]);
    await expireCommands(test.hub);
    expect(await list()).toMatchObject([
      { state: "expired", fault: { code: "EXPIRED" } },
      { state: "expired", fault: { code: "EXPIRED" } },
    ]);
    const { rows } = await callAs(test.hub, "viewer").events.list({ nodeId: null, run: null, cursor: null, limit: 50 });
    const told = rows.filter(({ kind }) => kind === "command-expired");
    expect(told.map(({ text }) => text)).toEqual(["2 commands expired before their nodes took them up"]);
  });

  it("that its node had accepted in time goes on, whatever the hub made of the silence", async () => {
    const { sent } = await send({ validMs: 60_000 });
    const commandId = sent[0]?.commandId ?? "";
    test.advance(61_000);
    await expireCommands(test.hub);
    await say({ type: "command-accepted", commandId });
    expect(await list()).toMatchObject([{ state: "accepted", fault: null, endedAt: null }]);
    await say({ type: "command-ended", commandId, outcome: "done", fault: null });
    await say({ type: "command-ended", commandId, outcome: "failed", fault: { code: "INTERRUPTED" } });
    expect(await list()).toMatchObject([{ state: "done", fault: null }]);
  });

  it("that failed says why in the history", async () => {
    const { sent } = await send({ order: { kind: "reallocate" } });
    const commandId = sent[0]?.commandId ?? "";
    const fault = { code: "CONFLICT" as const, detail: "the budget is used up" };
    await say({ type: "command-ended", commandId, outcome: "failed", fault });
    const { rows } = await callAs(test.hub, "viewer").events.list({ nodeId: null, run: null, cursor: null, limit: 50 });
    expect(rows[0]).toMatchObject({ kind: "command-failed", nodeName: "gpu-1" });
    expect(rows[0]?.text).toContain("the budget is used up");
  });

  it("can be taken back while no node has accepted it", async () => {
    const commandId = (await send()).sent[0]?.commandId ?? "";
    await callAs(test.hub, "operator").commands.cancel({ id: commandId });
    expect(await list()).toMatchObject([{ state: "cancelled" }]);
    expect(await heard()).toEqual([]);
    const taken = (await send()).sent[0]?.commandId ?? "";
    await say({ type: "command-accepted", commandId: taken });
    await expect(callAs(test.hub, "operator").commands.cancel({ id: taken })).rejects.toThrow("accepted");
  });

  it("of another node cannot be ended", async () => {
    const other = await addTestNode(test.hub, profileId, "gpu-2");
    const commandId = (await send()).sent[0]?.commandId ?? "";
    await say({ type: "command-ended", commandId, outcome: "done", fault: null }, other);
    expect(await list()).toMatchObject([{ state: "sent" }]);
  });
});

describe("a request to many nodes", () => {
  it("answers for each, also for those that are unknown or revoked", async () => {
    const gone = await addTestNode(test.hub, profileId, "gpu-2");
    await callAs(test.hub, "admin").nodes.revoke({ id: gone.nodeId });
    const { sent } = await send({ to: { nodeIds: [node.nodeId, gone.nodeId, "no-such-node"] } });
    expect(sent).toMatchObject([
      { nodeName: "gpu-1", fault: null },
      { nodeName: "gpu-2", commandId: null, fault: { code: "NODE_REVOKED" } },
      { nodeName: null, commandId: null, fault: { code: "NOT_FOUND" } },
    ]);
  });

  it("finds them by pattern and by label, and says when there is none", async () => {
    const spot = await addTestNode(test.hub, profileId, "spot-1");
    const labels = { tier: "spot" };
    await callAs(test.hub, spot.caller).node.hello({ protocol: 1, bootId: newId(), facts: { ...facts, labels } });
    const named = async (scope: object) =>
      (await send({ to: { filter: { scope } } })).sent.map(({ nodeName }) => nodeName);
    expect(await named({})).toEqual(["gpu-1", "spot-1"]);
    expect(await named({ nodes: "gpu-*" })).toEqual(["gpu-1"]);
    expect(await named({ labels })).toEqual(["spot-1"]);
    await expect(named({ runs: "llama*" })).rejects.toThrow("the filter fits none");
  });

  it("is listed page by page, each command once", async () => {
    for (let count = 2; count <= 7; count++) await addTestNode(test.hub, profileId, `gpu-${count}`);
    await send({ to: { filter: { scope: {} } } });
    const seen: string[] = [];
    for (let cursor: string | null = null, pages = 0; pages < 9; pages++) {
      const page: Awaited<ReturnType<ReturnType<typeof callAs>["commands"]["list"]>> = await callAs(
        test.hub,
        "viewer",
      ).commands.list({ cursor, limit: 3 });
      seen.push(...page.rows.map(({ nodeName }) => nodeName));
      cursor = page.nextCursor;
      if (cursor === null) break;
    }
    expect(seen.toSorted()).toEqual(["gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5", "gpu-6", "gpu-7"]);
  });
});

it("a limit that names no direction is refused", async () => {
  await expect(send({ order: { kind: "limit" } })).rejects.toThrow("names no direction");
});
