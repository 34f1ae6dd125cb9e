import { afterEach, beforeEach, expect, test } from "vitest";
import {
  addTestNode,
  addTestProfile,
  callAs,
  NOBODY,
  openTestHub,
  report,
  type TestHub,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { fault } from "#server/testing/match-fault.ts";
import { createMailbox } from "../live/live-node.ts";

let hub: TestHub;
let node: TestNode;
beforeEach(async () => {
  hub = await openTestHub();
  node = await addTestNode(hub.hub, await addTestProfile(hub.hub, "http://127.0.0.1:9"), "gpu-1");
});
afterEach(() => hub.close());

const progress = (over: object = {}) => callAs(hub.hub, node.caller).node.progress({ ...report(hub.hub), ...over });
const words = () => callAs(hub.hub, "viewer").nodes.words({ id: node.nodeId });

test("what the program said last is told with its time, and nothing where none runs", async () => {
  expect(await words()).toEqual({ text: null, at: null, state: "online" });
  await progress({ logTail: "step 41\nstep 42 loss 1.5" });
  const said = await words();
  expect(said).toMatchObject({ text: "step 41\nstep 42 loss 1.5", state: "online" });
  expect(said.at).toBeGreaterThan(hub.hub.now() - 60_000);
  await progress({ logTail: null });
  expect((await words()).text).toBeNull();
});

test("while somebody reads, that node reports every second and is told so at once; afterwards as all others", async () => {
  expect((await progress()).settings).toEqual({ reportEveryMs: 10_000, returnWithinMs: 500 });
  const box = createMailbox(null);
  hub.hub.live.nodes.get(node.nodeId)?.mailboxes.add(box);
  await words();
  expect(box.messages).toContainEqual({ type: "settings", settings: { reportEveryMs: 1_000, returnWithinMs: 500 } });
  expect((await progress()).settings).toEqual({ reportEveryMs: 1_000, returnWithinMs: 500 });
  hub.advance(6_000);
  expect((await progress()).settings).toEqual({ reportEveryMs: 10_000, returnWithinMs: 500 });
});

test("a node that is not known and a caller who is nobody get no words", async () => {
  await expect(callAs(hub.hub, "viewer").nodes.words({ id: "node-nobody" })).rejects.toEqual(fault("NOT_FOUND"));
  await expect(callAs(hub.hub, NOBODY).nodes.words({ id: node.nodeId })).rejects.toEqual(fault("NOT_SIGNED_IN"));
});
