import { getEventListeners } from "node:events";
import { request } from "node:http";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { openSession } from "../core/accounts/auth/session.ts";
import { node, served, servedForEach, test } from "../testing/served-for-each.ts";

let cookie = "";
servedForEach();
beforeEach(async () => {
  await test.hub.db.user.create({
    data: { id: "user", email: "v@example.com", role: "viewer", passwordHash: "", createdAt: new Date() },
  });
  cookie = (await openSession(test.hub, "user")).split(";", 1)[0] ?? "";
});

/** Opens a stream, waits for its first bytes, and goes away without a word. */
function visit(path: string, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(`${served.url}/api/trpc/${path}`, { headers: { accept: "text/event-stream", ...headers } });
    asked.on("error", reject);
    asked.on("response", (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`status ${answer.statusCode}`));
      answer.once("data", () => {
        asked.destroy();
        resolve();
      });
      answer.on("error", () => undefined);
    });
    asked.end();
  });
}

describe("a stream whose other end goes away", () => {
  it("leaves nothing behind, a thousand times", async () => {
    const { live, closing } = test.hub;
    const mailboxes = live.nodes.get(node.nodeId)?.mailboxes;
    const input = encodeURIComponent(JSON.stringify({ bootId: "boot-0001" }));
    for (let round = 0; round < 25; round++) {
      const people = Array.from({ length: 12 }, () => visit("live.watch", { cookie }));
      const nodes = Array.from({ length: 28 }, () =>
        visit(`node.stream?input=${input}`, { authorization: `Bearer ${node.credential}` }),
      );
      await Promise.all([...people, ...nodes]);
    }
    await vi.waitFor(() => {
      expect({ watchers: live.watchers, mailboxes: mailboxes?.size }).toEqual({ watchers: 0, mailboxes: 0 });
      expect([live.changed.waiting, live.sessionsChanged.waiting]).toEqual([0, 0]);
    }, 20_000);
    expect(getEventListeners(closing, "abort").length).toBeLessThan(10);
  });
});
