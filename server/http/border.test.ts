import { once } from "node:events";
import { request } from "node:http";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isPostgres } from "../testing/test-database.ts";
import { openSession } from "../core/accounts/auth/session.ts";
import { addTestProfile, openTestHub, type TestHub } from "../testing/open-test-hub.ts";
import { serve, type Served } from "./serve.ts";

let test: TestHub;
let served: Served;
let cookie = "";
beforeEach(async () => {
  test = await openTestHub();
  await test.hub.db.user.create({
    data: { id: "root", email: "root@example.com", role: "admin", passwordHash: "", createdAt: new Date() },
  });
  cookie = (await openSession(test.hub, "root")).split(";", 1)[0] ?? "";
  served = await serve(test.hub, async (_request, response) => void response.end(), 0);
});
afterEach(async () => {
  await served.close(0);
  await test.close();
});

const json = { "content-type": "application/json" };
const post = (procedure: string, body: string, headers: Record<string, string> = json) =>
  fetch(`${served.url}/api/trpc/${procedure}`, { method: "POST", headers: { cookie, ...headers }, body });
const codeOf = async (answer: Response): Promise<string | undefined> =>
  ((await answer.json()) as { error?: { data: { fault: { code: string } } } }).error?.data.fault.code;

describe("what a browser can be made to send", () => {
  let draft = "";
  beforeEach(async () => {
    const profileId = await addTestProfile(test.hub, "http://127.0.0.1:9");
    draft = JSON.stringify({ label: "", profileId, maxUses: 1, validMs: 60_000 });
  });

  it("changes what it asks for when it comes from the hub's own pages", async () => {
    expect((await post("tokens.create", draft, { ...json, origin: served.url })).status).toBe(200);
    expect(await test.hub.db.joinToken.count()).toBe(1);
  });

  it.each([
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["a form as plain text", { "content-type": "text/plain" }],
    ["another origin", { ...json, origin: "https://evil.example" }],
    ["a sandboxed frame", { ...json, origin: "null" }],
    ["another port of this host", { ...json, "sec-fetch-site": "same-site" }],
  ])("changes nothing when it comes from %s, with the cookie of an admin", async (_, headers) => {
    const answer = await post("tokens.create", draft, headers);
    expect(["400 BAD_INPUT", "403 CROSS_SITE"]).toContain(`${answer.status} ${await codeOf(answer)}`);
    expect(await test.hub.db.joinToken.count()).toBe(0);
  });

  it("changes nothing by GET, whatever it says it is", async () => {
    for (const method of ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const url = `${served.url}/api/trpc/auth.signOut`;
      const answer = await fetch(url, { method, headers: { cookie, "x-http-method-override": "POST" } });
      expect(answer.ok, method).toBe(false);
    }
    expect(await test.hub.db.session.count()).toBe(1);
  });

  it("gets no permission to read an answer from another origin", async () => {
    const answer = await fetch(`${served.url}/api/trpc/auth.status`, { headers: { origin: "https://evil.example" } });
    const allowed = [...answer.headers.keys()].filter((name) => name.startsWith("access-control-"));
    expect(allowed).toEqual([]);
  });
});

describe("how much is taken at once", () => {
  it("is twenty calls", async () => {
    const calls = (count: number) => Array.from({ length: count }, () => "auth.status").join(",");
    expect((await fetch(`${served.url}/api/trpc/${calls(20)}?batch=1`)).status).toBe(200);
    expect((await fetch(`${served.url}/api/trpc/${calls(21)}?batch=1`)).ok).toBe(false);
  });

  it("is one megabyte, and a large call does not hide in a batch", async () => {
    const large = JSON.stringify({ email: "x".repeat(5_000_000), password: "" });
    for (const path of ["auth.signIn", "auth.signIn,node.commit?batch=1", "node.commit,auth.signIn?batch=1"]) {
      const answer = await post(path, large);
      const text = await answer.text();
      expect(text, path).toContain("TOO_LARGE");
      expect(text, path).not.toContain('"result"');
    }
  });

  it.each([
    ["lists", "[", "]"],
    ["objects", `{"a":`, "}"],
  ])("is %s nested as deep as a megabyte allows: refused like any wrong input", async (_, opening, closing) => {
    const depth = Math.floor(990_000 / (opening.length + closing.length));
    const inner = opening === "[" ? "" : "1";
    const answer = await post("tokens.create", opening.repeat(depth) + inner + closing.repeat(depth));
    expect([answer.status, await codeOf(answer)]).toEqual([400, "BAD_INPUT"]);
    const inside = `{"label":${opening.repeat(depth / 2)}${inner}${closing.repeat(depth / 2)},"profileId":"x"}`;
    expect((await post("tokens.create", inside)).status).toBe(400);
    expect((await fetch(`${served.url}/healthz`)).status).toBe(200);
  });
});

describe("what else knocks", () => {
  it("gets no web socket, on any path", async () => {
    for (const path of ["/", "/api/trpc/live.watch", "/_next/webpack-hmr"]) {
      const upgrade = request(served.url + path, { headers: { connection: "upgrade", upgrade: "websocket" } });
      upgrade.end();
      const [answer] = (await once(upgrade, "response")) as [{ statusCode: number }];
      expect(answer.statusCode, path).toBe(400);
    }
  });

  it.skipIf(isPostgres)("finds a database that its owner alone may read, its log beside it too", async () => {
    for (const name of ["hub.db", "hub.db-wal"]) {
      expect((await stat(join(test.folder, name))).mode & 0o077, name).toBe(0);
    }
    expect(await test.hub.db.$queryRaw`PRAGMA secure_delete`).toEqual([{ secure_delete: 1 }]);
  });
});
