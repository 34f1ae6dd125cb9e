import { afterEach, beforeEach, expect, test } from "vitest";
import { command } from "#protocol/wire/commands.ts";
import { makeSafe, run } from "#server/testing/stage-checkpoint.ts";
import { addTestNode, callAs, report } from "#server/testing/open-test-hub.ts";
import { createSignal } from "#server/core/live/signal.ts";
import { assignCopies } from "./assign-copies.ts";
import { openTwoHomes } from "#server/testing/stage-homes.ts";

let stage: Awaited<ReturnType<typeof openTwoHomes>>;
beforeEach(async () => {
  stage = await openTwoHomes();
});
afterEach(() => stage.close());

test("an idle node is asked once for the newest, after the writer had its time", async () => {
  const { test: t, node, epoch, first, second } = stage;
  await makeSafe(t.hub, node, { epoch, step: 10 });
  const { checkpointId } = await makeSafe(t.hub, node, { epoch, step: 20 });
  const idle = await addTestNode(t.hub, first, "gpu-2");
  const live = t.hub.live.nodes.get(idle.nodeId);
  live?.mailboxes.add({
    messages: [],
    signal: createSignal(),
    credentialHash: null,
    isOver: false,
  });
  const say = async () => {
    for (const who of [node, idle]) await callAs(t.hub, who.caller).node.progress(report(t.hub));
  };
  const asked = async () =>
    (await t.hub.db.command.findMany({ where: { kind: "copy" } })).map(({ body, nodeId }) => {
      const order = command.parse(JSON.parse(body));
      return order.kind === "copy" ? { nodeId, checkpointId: order.checkpointId, profileId: order.profileId } : null;
    });
  await say();
  await assignCopies(t.hub, () => false);
  expect(await asked()).toEqual([]);
  t.advance(6 * 60_000);
  await say();
  await assignCopies(t.hub, () => false);
  await assignCopies(t.hub, () => false);
  expect(await asked()).toEqual([{ nodeId: idle.nodeId, checkpointId, profileId: second }]);
  // It may read what it copies, and write under its own attempt.
  const begun = callAs(t.hub, idle.caller).node.beginCopy({
    checkpointId,
    profileId: second,
    attempt: "abcdefghijklmnop",
  });
  expect(await begun).toEqual({ isWanted: true });
  expect(run).toBe("llama");
});

test("one that is doubtful is copied too, after the newest whole one: it may be all that there is", async () => {
  const { test: t, node, epoch, first, second } = stage;
  const { checkpointId } = await makeSafe(t.hub, node, { epoch, step: 10 });
  await t.hub.db.checkpoint.update({ where: { id: checkpointId }, data: { doubt: "a file is missing" } });
  const idle = await addTestNode(t.hub, first, "gpu-2");
  t.hub.live.nodes
    .get(idle.nodeId)
    ?.mailboxes.add({ messages: [], signal: createSignal(), credentialHash: null, isOver: false });
  t.advance(6 * 60_000);
  for (const who of [node, idle]) await callAs(t.hub, who.caller).node.progress(report(t.hub));
  await assignCopies(t.hub, () => false);
  const [asked] = await t.hub.db.command.findMany({ where: { kind: "copy" } });
  expect(asked).toMatchObject({ nodeId: idle.nodeId, checkpointId });
  expect(asked?.body).toContain(second);
});
