import { describe, expect, it } from "vitest";
import { callAs } from "../testing/open-test-hub.ts";
import { node, nodeForEach, test } from "../testing/node-for-each.ts";
import { openSession, readSession } from "../core/accounts/auth/session.ts";
import { hashOf } from "../platform/random-id.ts";

nodeForEach();

async function personWithSession() {
  await test.hub.db.user.create({
    data: { id: "user", email: "v@example.com", role: "viewer", passwordHash: "", createdAt: new Date() },
  });
  const secret = /=(tms_[^;]+)/.exec(await openSession(test.hub, "user"))?.[1] ?? "";
  const session = await readSession(test.hub, hashOf(secret));
  if (session === null) throw new Error("no session");
  return { kind: "person" as const, person: session.person, sessionHash: session.hash };
}

describe("open streams", () => {
  it("are twenty of one session at most, and one that ends makes room", async () => {
    const caller = await personWithSession();
    const open = async () => {
      const stream = (await callAs(test.hub, caller).live.watch())[Symbol.asyncIterator]();
      await stream.next();
      return stream;
    };
    const streams = [];
    for (let count = 0; count < 20; count++) streams.push(await open());
    await expect(open()).rejects.toThrow("20 streams are open already");
    await streams[0]?.return?.(undefined);
    await open();
    test.startClosing();
  });

  it("are four of one node at most: the oldest ends", async () => {
    const open = async () => {
      const stream = (await callAs(test.hub, node.caller).node.stream({ bootId: "boot-0001" }))[Symbol.asyncIterator]();
      await stream.next();
      return stream;
    };
    const streams = [];
    for (let count = 0; count < 6; count++) streams.push(await open());
    expect(test.hub.live.nodes.get(node.nodeId)?.mailboxes.size).toBe(4);
    expect(await streams[0]?.next()).toMatchObject({ done: true });
    expect(await streams[1]?.next()).toMatchObject({ done: true });
    test.startClosing();
    await expect(streams[5]?.next()).rejects.toThrow();
  });
});
