import { request, type OutgoingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it, vi } from "vitest";
import { node, served, servedForEach, test } from "../testing/served-for-each.ts";
import { callAs, report } from "../testing/open-test-hub.ts";
import { plainCallOf } from "./node-fast-path.ts";

servedForEach();

interface Sent {
  path: string;
  body: string;
  credential?: string;
  headers?: OutgoingHttpHeaders;
}

/** Sends a call with its length, which takes the short way, or without, which leaves it to the general adapter. */
function call({ path, body, credential = node.credential, headers = {} }: Sent, way: "short" | "general") {
  const length = way === "short" ? { "content-length": Buffer.byteLength(body) } : { "transfer-encoding": "chunked" };
  return new Promise<{ status: number | undefined; type: string | undefined; body: unknown }>((resolve, reject) => {
    const asked = request(`${served.url}/api/trpc/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${credential}`, ...length, ...headers },
    });
    asked.on("error", reject);
    asked.on("response", (answer) => {
      const { statusCode: status, headers: found } = answer;
      text(answer).then((said) => resolve({ status, type: found["content-type"], body: JSON.parse(said) }), reject);
    });
    asked.end(body);
  });
}

describe("the short way of a node's calls", () => {
  it.each([
    ["a report", () => ({ path: "node.progress", body: JSON.stringify(report(test.hub)) }), 200],
    ["a report that does not fit", () => ({ path: "node.progress", body: JSON.stringify({ seq: -1 }) }), 400],
    ["no JSON", () => ({ path: "node.progress", body: "{" }), 400],
    ["an empty body", () => ({ path: "node.progress", body: "" }), 400],
    ["a procedure that is none", () => ({ path: "node.nothing", body: "{}" }), 404],
    ["a question asked as an order", () => ({ path: "node.readCheckpoint", body: "{}" }), 404],
    ["a wrong credential", () => ({ path: "node.progress", body: "{}", credential: "tmn_0123456789abcdef" }), 401],
    ["a foreign page", () => ({ path: "node.goodbye", body: "", headers: { origin: "https://other.example" } }), 403],
  ])("answers %s as the general adapter does", async (_name, make, status) => {
    const [general, short] = [await call(make(), "general"), await call(make(), "short")];
    expect(short.status).toBe(status);
    expect(short).toEqual(general);
  });

  it("refuses a node that was revoked", async () => {
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    const answer = await call({ path: "node.goodbye", body: "" }, "short");
    expect(answer).toMatchObject({ body: { error: { data: { fault: { code: "NODE_REVOKED" } } } } });
  });

  it("leaves everything out of the ordinary alone", () => {
    const usual = { authorization: "Bearer x", "content-type": "application/json", "content-length": "2" };
    const plain = (url: string, headers: Record<string, string>, method = "POST") =>
      plainCallOf({ method, url, headers }, 100);
    expect(plain("/api/trpc/node.progress", usual)).toBe("node.progress");
    expect(plain("/api/trpc/node.progress?batch=1", usual)).toBeNull();
    expect(plain("/api/trpc/node.progress,node.record", usual)).toBeNull();
    expect(plain("/api/trpc/nodes.revoke", usual)).toBeNull();
    expect(plain("/api/trpc/node.progress", usual, "GET")).toBeNull();
    expect(plain("/api/trpc/node.progress", { ...usual, "content-length": "101" })).toBeNull();
    expect(plain("/api/trpc/node.progress", { ...usual, "content-type": "text/plain" })).toBeNull();
    expect(plain("/api/trpc/node.progress", { ...usual, authorization: "" })).toBeNull();
  });
});

describe("the short way of a node's stream", () => {
  it("says what the general adapter says, in the same words", async () => {
    const input = encodeURIComponent(JSON.stringify({ bootId: "boot-0001" }));
    const heard: string[] = [];
    const asked = request(`${served.url}/api/trpc/node.stream?input=${input}`, {
      headers: { authorization: `Bearer ${node.credential}` },
    });
    asked.on("response", (answer) => answer.setEncoding("utf8").on("data", (said: string) => heard.push(said)));
    asked.end();
    const settings = { type: "settings", settings: test.hub.live.settings };
    await vi.waitFor(() => {
      expect(heard.join("")).toBe(
        `event: connected\ndata: {"reconnectAfterInactivityMs":45000}\n\ndata: ${JSON.stringify(settings)}\n\n`,
      );
    });
    const ended = new Promise((resolve) => asked.on("close", resolve));
    await callAs(test.hub, "admin").nodes.revoke({ id: node.nodeId });
    await ended;
    expect(heard.join("")).toContain('event: serialized-error\ndata: {"code":');
    expect(heard.join("")).toContain('"code":"NODE_REVOKED"');
  });

  it("refuses an input that is none with a status", async () => {
    const answer = await fetch(`${served.url}/api/trpc/node.stream?input=%7B`, {
      headers: { authorization: `Bearer ${node.credential}` },
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { data: { httpStatus: 400 } } }]);
  });
});
