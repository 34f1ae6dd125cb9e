import { beforeEach, describe, expect, it } from "vitest";
import { openSession } from "../core/accounts/auth/session.ts";
import { callAs } from "../testing/open-test-hub.ts";
import { questionsOf } from "./query-handler.ts";
import { node, served, servedForEach, test } from "../testing/served-for-each.ts";

servedForEach();

let cookie = "";
beforeEach(async () => {
  const data = { id: "root", email: "root@example.com", role: "viewer", passwordHash: "", createdAt: new Date() };
  await test.hub.db.user.create({ data });
  cookie = (await openSession(test.hub, "root")).split(";", 1)[0] ?? "";
});

/** `general`: what asks for another form of answers is left to the general adapter. */
async function ask(path: string, way: "query" | "general", headers: Record<string, string> = { cookie }) {
  const answer = await fetch(`${served.url}/api/trpc/${path}`, {
    headers: { ...headers, ...(way === "general" && { "trpc-accept": "application/json" }) },
  });
  const kept = ["content-type", "cache-control", "vary"].map((name) => [name, answer.headers.get(name)]);
  return { status: answer.status, headers: Object.fromEntries(kept) as object, body: (await answer.json()) as unknown };
}
const input = (value: unknown) => `input=${encodeURIComponent(JSON.stringify(value))}`;

describe("the way of questions", () => {
  it.each([
    ["a question without an input", () => "profiles.presets", 200],
    ["one with an input", () => `nodes.get?${input({ id: node.nodeId })}`, 200],
    ["an input that does not fit", () => `nodes.get?${input({ id: 7 })}`, 400],
    ["an input that is missing", () => "nodes.get", 400],
    ["nothing that is there", () => `nodes.get?${input({ id: "no-such-node" })}`, 404],
    ["what takes another role", () => "settings.list", 403],
    ["a batch", () => `nodes.get,profiles.presets?batch=1&${input({ 0: { id: node.nodeId } })}`, 200],
    ["a batch of which some fails", () => `nodes.get,profiles.presets?batch=1&${input({ 0: { id: 7 } })}`, 400],
    ["a batch of which more fails", () => "nodes.get,settings.list,auth.status?batch=1", 207],
    ["a batch that fails as one", () => "nodes.get,nodes.words?batch=1", 400],
    ["a batch without inputs", () => "profiles.presets,auth.status?batch=1", 200],
    ["an order asked as a question", () => "nodes.revoke", 404],
    ["no JSON", () => "nodes.get?input=%7B", 400],
  ])("answers %s as the general adapter does", async (_name, make, status) => {
    const [general, own] = [await ask(make(), "general"), await ask(make(), "query")];
    expect(own.status).toBe(status);
    expect(own).toEqual(general);
  });

  it("asks who is there", async () => {
    expect(await ask("nodes.list", "query", {})).toMatchObject({
      status: 401,
      body: { error: { data: { fault: { code: "NOT_SIGNED_IN" } } } },
    });
  });

  it("writes a long list in pieces, whole", async () => {
    const [like] = test.hub.live.nodes.values();
    if (like === undefined) throw new Error("no node");
    for (let index = 0; index < 2_000; index++)
      test.hub.live.nodes.set(`node-${index}`, { ...like, id: `node-${index}`, name: `many-${index}` });
    const answer = await fetch(`${served.url}/api/trpc/nodes.list`, { headers: { cookie } });
    expect(answer.headers.get("content-length")).toBeNull();
    const told = ((await answer.json()) as { result: { data: { id: string }[] } }).result.data;
    expect(told.map(({ id }) => id)).toEqual((await callAs(test.hub, "viewer").nodes.list()).map(({ id }) => id));
    expect(told).toHaveLength(2_001);
  });

  it("leaves everything else alone", () => {
    const isQuery = (path: string) => path === "nodes.list";
    expect(questionsOf("/api/trpc/nodes.list", isQuery)?.calls).toHaveLength(1);
    for (const url of [
      "/api/trpc/live.watch",
      "/api/trpc/nodes.list,live.watch?batch=1",
      "/api/trpc/nodes.list,nodes.list",
      "/api/trpc/nodes.list?input=%7B",
      "/api/trpc/nodes.list?batch=1&input=%5B1%5D",
      "/elsewhere/nodes.list",
    ])
      expect(questionsOf(url, isQuery), url).toBeNull();
  });
});
