import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { NodeMessage } from "#protocol/wire/commands.ts";
import { fault } from "#server/testing/match-fault.ts";
import {
  addTestNode,
  addTestProfile,
  callAs,
  openTestHub,
  type TestHub,
  type TestNode,
} from "#server/testing/open-test-hub.ts";
import { hashOf, newId } from "#server/platform/random-id.ts";
import { readNodeCredential } from "./read-credential.ts";
import { askForRotation, endOverlaps } from "./rotate.ts";

let test: TestHub;
let node: TestNode;
let other: TestNode;
beforeEach(async () => {
  test = await openTestHub();
  const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
  node = await addTestNode(test.hub, profileId, "gpu-1");
  other = await addTestNode(test.hub, profileId, "gpu-2");
});
afterEach(() => test.close());

const next = "tmn_a-new-credential-that-the-node-made";
const offer = (hash = hashOf(next), who = node) => callAs(test.hub, who.caller).node.rotate({ hash });
const show = (credential: string) => readNodeCredential(test.hub, credential);
const unknown = expect.objectContaining({ code: "NODE_UNKNOWN" }) as unknown;

async function openStream(credential: string) {
  const caller = await show(credential);
  const answer = await callAs(test.hub, caller).node.stream({ bootId: newId() });
  const stream = (answer as AsyncIterable<NodeMessage>)[Symbol.asyncIterator]();
  return async () => (await stream.next()).value as NodeMessage | undefined;
}

describe("a node's credential", () => {
  it("is good beside the new one until that was used once", async () => {
    await offer();
    expect((await show(node.credential)).nodeId).toBe(node.nodeId);
    expect((await show(next)).nodeId).toBe(node.nodeId);
    await expect(show(node.credential)).rejects.toEqual(unknown);
    expect((await show(next)).nodeId).toBe(node.nodeId);
  });

  it("ends with the overlap when the new one was never used, which stays good", async () => {
    const { overlapUntil } = await offer();
    test.advance(overlapUntil - test.hub.now());
    await expect(show(node.credential)).rejects.toEqual(unknown);
    expect((await show(next)).nodeId).toBe(node.nodeId);
  });

  it("is offered again without harm when the answer was lost", async () => {
    const { overlapUntil } = await offer();
    test.advance(1_000);
    expect(await offer()).toEqual({ overlapUntil });
    await show(next);
    await offer();
    expect((await show(next)).nodeId).toBe(node.nodeId);
  });

  it("cannot become another node's", async () => {
    await offer();
    await expect(offer(hashOf(next), other)).rejects.toEqual(fault("CONFLICT"));
    await expect(offer(hashOf(other.credential))).rejects.toEqual(fault("CONFLICT"));
    expect((await show(other.credential)).nodeId).toBe(other.nodeId);
  });

  it("is stored as a hash, the new one too", async () => {
    await offer();
    expect(JSON.stringify(await test.hub.db.node.findMany())).not.toContain(next);
  });

  it("is not good when its node was revoked, neither the old one nor the new", async () => {
    await offer();
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    const revoked = expect.objectContaining({ code: "NODE_REVOKED" }) as unknown;
    for (const one of [node.credential, next]) await expect(show(one)).rejects.toEqual(revoked);
  });
});

describe("a new credential is asked for", () => {
  const untilRotate = async (read: () => Promise<NodeMessage | undefined>): Promise<NodeMessage | undefined> => {
    for (;;) {
      const message = await read();
      if (message === undefined || message.type === "rotate") return message;
    }
  };

  it("by a person, on the stream that is open and on the next one until it was done", async () => {
    const read = await openStream(node.credential);
    await read();
    await callAs(test.hub, "admin").nodes.rotateCredential({ id: node.nodeId });
    expect(await untilRotate(read)).toEqual({ type: "rotate" });
    expect(await untilRotate(await openStream(node.credential))).toEqual({ type: "rotate" });
    await offer();
    const after = await openStream(next);
    expect(await after()).toMatchObject({ type: "settings" });
    await askForRotation(test.hub);
    test.hub.live.send(node.nodeId, { type: "refresh" });
    expect(await after()).toEqual({ type: "refresh" });
  });

  it("by the hub when it is thirty days old", async () => {
    const read = await openStream(node.credential);
    await read();
    test.advance(30 * 86_400_000 + 1);
    await askForRotation(test.hub);
    expect(await untilRotate(read)).toEqual({ type: "rotate" });
  });
});

it("a stream that was opened with the old credential ends with the overlap", async () => {
  const read = await openStream(node.credential);
  await read();
  const untilItEnds = async (): Promise<never> => {
    for (;;) await read();
  };
  const ends = expect(untilItEnds()).rejects.toEqual(fault("CREDENTIAL_REPLACED"));
  const { overlapUntil } = await offer();
  await endOverlaps(test.hub);
  test.advance(overlapUntil - test.hub.now());
  await endOverlaps(test.hub);
  await ends;
});

it("a stream that was opened with the old credential ends at the first use of the new one", async () => {
  const read = await openStream(node.credential);
  await read();
  const ends = expect(read()).rejects.toEqual(fault("CREDENTIAL_REPLACED"));
  await offer();
  await show(next);
  await ends;
});
