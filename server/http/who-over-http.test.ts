import { once } from "node:events";
import { request } from "node:http";
import { beforeEach, describe, expect, it } from "vitest";
import { hashOf } from "../platform/random-id.ts";
import { node, served, servedForEach, test } from "../testing/served-for-each.ts";
import { addTestPerson, callAs, report, TEST_PASSWORD, type TestPerson } from "../testing/open-test-hub.ts";

/** Who is let in and who is put out, over real connections: what a session, a token and a credential are worth on the wire. */

let root: TestPerson;
let grace: TestPerson;
servedForEach();
beforeEach(async () => {
  root = await addTestPerson(test.hub, "root@example.com", "admin");
  grace = await addTestPerson(test.hub, "grace@example.com", "operator");
});

type Headers = Record<string, string>;
const bearer = (secret: string): Headers => ({ authorization: `Bearer ${secret}` });
const newToken = (role: "viewer" | "operator" = "viewer") =>
  callAs(test.hub, grace.caller).apiTokens.create({ name: "report", role });

/** Status, and the code of the fault where there is one. */
async function ask(path: string, headers: Headers, body?: unknown): Promise<string> {
  const change = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(`${served.url}/api/trpc/${path}`, {
    ...change,
    headers: { ...headers, "content-type": "application/json" },
  });
  const said = (await answer.json()) as { error?: { data: { fault: { code: string } } } };
  return [answer.status, said.error?.data.fault.code].filter((one) => one !== undefined).join(" ");
}

/** An open stream: its first words were heard. `ended` gives all it said when it is over. */
async function follow(path: string, headers: Headers): Promise<{ ended: Promise<string> }> {
  const asked = request(`${served.url}/api/trpc/${path}`, { headers: { accept: "text/event-stream", ...headers } });
  asked.end();
  const [answer] = (await once(asked, "response")) as [NodeJS.ReadableStream & { statusCode: number }];
  expect(answer.statusCode).toBe(200);
  let text = "";
  const begun = new Promise<void>((resolve) =>
    answer.on("data", (chunk) => {
      text += String(chunk);
      if (text.includes('"settings"') || text.includes('"fleet"')) resolve();
    }),
  );
  const ended = once(answer, "end").then(() => text);
  await begun;
  return { ended };
}

const stream = (): string => `node.stream?input=${encodeURIComponent(JSON.stringify({ bootId: "boot-0001" }))}`;

/** Without the notification the stream would stay open until its next heartbeat, at least four seconds later. */
const BEFORE_THE_NEXT_HEARTBEAT_MS = 3_000;

/** Returns the text of a stream that ends by the notification that `cut` causes. */
async function endedBy(open: { ended: Promise<string> }, cut: () => Promise<unknown>): Promise<string> {
  await cut();
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error("it is still open")), BEFORE_THE_NEXT_HEARTBEAT_MS).unref(),
  );
  return Promise.race([open.ended, late]);
}

describe("an open stream ends at once", () => {
  it("of a session that an admin ended", async () => {
    const open = await follow("live.watch", { cookie: grace.cookie });
    const [session] = await callAs(test.hub, root.caller).sessions.list({ userId: grace.id });
    const said = await endedBy(open, () => callAs(test.hub, root.caller).sessions.end({ id: session?.id ?? "" }));
    expect(said).toContain("NOT_SIGNED_IN");
  });

  it("of an account that was disabled, or removed, while another's goes on", async () => {
    const disabled = await follow("live.watch", { cookie: grace.cookie });
    const ada = await addTestPerson(test.hub, "ada@example.com", "viewer");
    const removed = await follow("live.watch", { cookie: ada.cookie });
    const others = await follow("live.watch", { cookie: root.cookie });
    const as = callAs(test.hub, root.caller).users;
    expect(await endedBy(disabled, () => as.disable({ id: grace.id }))).toContain("NOT_SIGNED_IN");
    expect(await endedBy(removed, () => as.remove({ id: ada.id }))).toContain("NOT_SIGNED_IN");
    const still = await Promise.race([others.ended, Promise.resolve("open")]);
    expect(still).toBe("open");
  });

  it("of every other session when a password is changed", async () => {
    const answer = await fetch(`${served.url}/api/trpc/auth.signIn`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "grace@example.com", password: TEST_PASSWORD }),
    });
    const cookie = answer.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
    const open = await follow("live.watch", { cookie });
    const change = { old: TEST_PASSWORD, password: "another long password" };
    expect(await endedBy(open, () => callAs(test.hub, grace.caller).auth.changePassword(change))).toContain(
      "NOT_SIGNED_IN",
    );
  });

  it("of an API token that was revoked", async () => {
    const { token, view } = await newToken();
    const open = await follow("live.watch", bearer(token));
    const said = await endedBy(open, () => callAs(test.hub, grace.caller).apiTokens.revoke({ id: view.id }));
    expect(said).toContain("API_TOKEN_REFUSED");
  });

  it("of a node that was revoked", async () => {
    const open = await follow(stream(), bearer(node.credential));
    const said = await endedBy(open, () => callAs(test.hub, root.caller).nodes.revoke({ id: node.nodeId }));
    expect(said).toContain("NODE_REVOKED");
    expect(await ask("node.progress", bearer(node.credential), report(test.hub))).toBe("403 NODE_REVOKED");
  });

  it("of a credential whose successor was used", async () => {
    const open = await follow(stream(), bearer(node.credential));
    const next = "tmn_a-new-credential-that-the-node-made";
    await ask("node.rotate", bearer(node.credential), { hash: hashOf(next) });
    const hello = { ...report(test.hub) };
    expect(await endedBy(open, () => ask("node.progress", bearer(next), hello))).toContain("CREDENTIAL_REPLACED");
    expect(await ask("node.progress", bearer(node.credential), report(test.hub))).toBe("401 NODE_UNKNOWN");
  });
});

describe("what is shown as a bearer", () => {
  it("is a person's program with an API token, as far as its role goes", async () => {
    const { token } = await newToken("operator");
    expect(await ask("nodes.list", bearer(token))).toBe("200");
    expect(await ask("tokens.list", bearer(token))).toBe("200");
    expect(await ask("users.list", bearer(token))).toBe("403 ROLE_REQUIRED");
    expect(await ask("auth.signOut", bearer(token), {})).toBe("403 PERSON_REQUIRED");
    expect(await ask("apiTokens.create", bearer(token), { name: "more", role: "viewer" })).toBe("403 PERSON_REQUIRED");
    expect(await ask("node.goodbye", bearer(token), {})).toBe("401 NODE_UNKNOWN");
  });

  it("counts before a cookie, also when it is no good", async () => {
    const { token, view } = await newToken();
    expect(await ask("users.list", { ...bearer(token), cookie: root.cookie })).toBe("403 ROLE_REQUIRED");
    await callAs(test.hub, grace.caller).apiTokens.revoke({ id: view.id });
    expect(await ask("users.list", { ...bearer(token), cookie: root.cookie })).toBe("401 API_TOKEN_REFUSED");
  });

  it("is nothing when it has expired, was made up, or is something else's secret", async () => {
    const { token } = await newToken();
    test.advance(90 * 86_400_000);
    expect(await ask("nodes.list", bearer(token))).toBe("401 API_TOKEN_REFUSED");
    expect(await ask("nodes.list", bearer(`tmk_${"x".repeat(43)}`))).toBe("401 API_TOKEN_REFUSED");
    const session = grace.cookie.slice(grace.cookie.indexOf("=") + 1);
    expect(await ask("nodes.list", bearer(session))).toBe("401 NODE_UNKNOWN");
    expect(await ask("nodes.list", bearer(node.credential))).toBe("401 NOT_SIGNED_IN");
    for (const forged of [node.nodeId, hashOf(node.credential), "x", "' OR 1=1 --"]) {
      expect(await ask("node.goodbye", bearer(forged), {}), forged).toBe("401 NODE_UNKNOWN");
    }
  });
});
