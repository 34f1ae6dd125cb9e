import { createHmac } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import { wholeSecret, type ChannelKind } from "#protocol/alerts/channel-kinds.ts";
import { callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { readReach } from "#server/platform/reach.ts";
import { deliverDue, MOST_TRIES } from "./deliver.ts";
import { makeMessage, putMessage } from "./make-message.ts";
import { openReceiver, type Receiver } from "#server/testing/open-receiver.ts";
import { writeRequests } from "#storage/webhooks/write-request.ts";

const KEY = "a-signing-key-of-some-length";
type HttpKind = Exclude<ChannelKind, "email">;
const PATH: Record<HttpKind, string> = {
  slack: "/services/T0/B0/secret",
  discord: "/api/webhooks/1/secret",
  ntfy: "/team/alerts",
  webhook: "/hook?token=secret",
  pagerduty: "/v2/enqueue",
  opsgenie: "",
};
/** Where a message arrives, if not at the address itself. */
const ARRIVES: Partial<Record<HttpKind, string>> = { ntfy: "/team", opsgenie: "/v2/alerts" };
const HTTP_KINDS = Object.keys(PATH) as HttpKind[];

let test: TestHub;
let receiver: Receiver;
beforeEach(async () => {
  receiver = await openReceiver();
  test = await openTestHub();
});
afterEach(async () => {
  await test.close();
  await receiver.close();
});

const admin = () => callAs(test.hub, "admin").alerts;
const add = async (kind: HttpKind = "webhook", changes: object = {}): Promise<string> => {
  const channel = { name: `to ${kind}`, kind, ...changes };
  return (await admin().channels.create({ channel, secret: { url: receiver.url + PATH[kind], key: KEY } })).id;
};
const message = makeMessage;
const put = (channelId: string, body = message()) => putMessage(test.hub, channelId, body);
const states = async () => (await test.hub.db.alertMessage.findMany()).map(({ state }) => state);
const all = (kind: HttpKind, changes: Partial<AlertMessage> = {}, key = KEY) => {
  const secret = wholeSecret(kind, { url: receiver.url + PATH[kind], key });
  const about = { id: "message-1", incident: "incident-1", now: 1_795_352_880_123 };
  return writeRequests(kind, { ...about, message: message(changes), secret });
};
const written = (kind: HttpKind, changes: Partial<AlertMessage> = {}, key = KEY) => {
  const [first] = all(kind, changes, key);
  if (first === undefined) throw new Error("nothing was written");
  return first;
};

describe("a channel", () => {
  it.each(HTTP_KINDS)("of the kind %s gets a message once, in its own form", async (kind) => {
    const { id } = await put(await add(kind));
    await deliverDue(test.hub);
    await deliverDue(test.hub);
    expect(receiver.got).toHaveLength(1);
    expect(receiver.got[0]?.headers["idempotency-key"]).toBe(id);
    expect(receiver.got[0]?.body).toContain("gpu-7");
    expect(receiver.got[0]?.path).toBe(ARRIVES[kind] ?? PATH[kind]);
    expect(await states()).toEqual(["sent"]);
  });

  it("never shows its address or key again, neither in an answer nor in the database", async () => {
    await add();
    const shown = JSON.stringify(await admin().channels.list());
    expect(shown).toContain(new URL(receiver.url).host);
    expect(shown).not.toContain("secret");
    expect(shown).not.toContain(KEY);
    const stored = JSON.stringify(await test.hub.db.alertChannel.findMany({ include: { secret: true } }));
    expect(stored).not.toContain("token=secret");
    expect(stored).not.toContain(KEY);
  });

  it("is not told of in a fault with more than its host", async () => {
    const id = await add("slack");
    receiver.answers.push(404);
    const answer = await admin().test({ id });
    expect(answer).toMatchObject({ ok: false, fault: { code: "CHANNEL_REFUSED", status: 404 } });
    expect(JSON.stringify(answer)).not.toContain("secret");
  });

  it("is tested at once, past its rate", async () => {
    const id = await add("discord", { perMinute: 1 });
    for (let times = 0; times < 3; times++) expect(await admin().test({ id })).toMatchObject({ ok: true });
    expect(receiver.got).toHaveLength(3);
    expect(receiver.got[0]?.body).toContain("This is a test");
  });

  it("at a metadata address is refused when it is entered, and when it leads there later", async () => {
    const secret = { url: "http://169.254.169.254/latest", key: KEY };
    const channel = { name: "evil", kind: "webhook" as const };
    await expect(admin().channels.create({ channel, secret })).rejects.toThrow("metadata");
    await add();
    await put((await test.hub.db.alertChannel.findFirstOrThrow()).id);
    Object.assign(test.hub.reach, { rules: readReach({}, { isLoopback: false }) });
    await deliverDue(test.hub);
    expect(receiver.got).toEqual([]);
    expect(await states()).toEqual(["given-up"]);
  });

  it("keeps its address when it is changed without one, and wants one for another kind", async () => {
    const id = await add("slack");
    const change = (kind: ChannelKind, version: number) =>
      admin().channels.update({ id, version, channel: { name: "renamed", kind }, secret: null });
    await change("slack", 1);
    expect(await admin().test({ id })).toMatchObject({ ok: true });
    await expect(change("discord", 2)).rejects.toThrow("its own address");
    await expect(change("slack", 1)).rejects.toThrow("changed in the meantime");
  });

  it("of the kind webhook needs a key", async () => {
    const channel = { name: "unsigned", kind: "webhook" as const };
    await expect(admin().channels.create({ channel, secret: { url: receiver.url } })).rejects.toThrow();
  });

  it("that is removed takes what waits for it along, and rules go on without it", async () => {
    const id = await add();
    await put(id);
    await admin().rules.create({ rule: { name: "r", condition: { kind: "silent" }, channelIds: [id] } });
    await admin().channels.remove({ id });
    expect(await states()).toEqual([]);
    expect((await admin().rules.list()).every(({ rule }) => rule.channelIds.length === 0)).toBe(true);
  });
});

describe("a message", () => {
  it.each([503, 429, "broken"] as const)("that met %s is tried again later, under the same key", async (answer) => {
    const { id } = await put(await add());
    receiver.answers.push(answer);
    await deliverDue(test.hub);
    await deliverDue(test.hub);
    expect(receiver.got).toHaveLength(1);
    expect((await admin().channels.list())[0]).toMatchObject({
      waiting: 1,
      lastFault: { code: "CHANNEL_UNREACHABLE" },
    });
    test.advance(5_000);
    await deliverDue(test.hub);
    expect(receiver.got.map(({ headers }) => headers["idempotency-key"])).toEqual([id, id]);
    expect(await states()).toEqual(["sent"]);
    expect((await admin().channels.list())[0]).toMatchObject({ waiting: 0, lastFault: null });
  });

  it("waits as long as the other end says", async () => {
    await put(await add());
    receiver.answers.push({ status: 429, headers: { "retry-after": "120" } });
    await deliverDue(test.hub);
    test.advance(60_000);
    await deliverDue(test.hub);
    expect(receiver.got).toHaveLength(1);
    test.advance(60_000);
    await deliverDue(test.hub);
    expect(receiver.got).toHaveLength(2);
  });

  it("that is refused is given up at once, with an event", async () => {
    await put(await add());
    receiver.answers.push(403);
    await deliverDue(test.hub);
    expect(await states()).toEqual(["given-up"]);
    const { rows } = await callAs(test.hub, "viewer").events.list({ nodeId: null, run: null, cursor: null, limit: 9 });
    expect(rows[0]).toMatchObject({ kind: "alert-undelivered", fault: { code: "CHANNEL_REFUSED" } });
    expect(JSON.stringify(rows)).not.toContain("token=secret");
  });

  it("is given up after so many tries", async () => {
    await put(await add());
    receiver.answers.push(...Array.from({ length: MOST_TRIES }, () => 500));
    for (let tries = 0; tries < MOST_TRIES + 3; tries++) {
      await deliverDue(test.hub);
      test.advance(15 * 60_000);
    }
    expect(receiver.got).toHaveLength(MOST_TRIES);
    expect(await states()).toEqual(["given-up"]);
  });

  it("is not sent on to where a redirect leads", async () => {
    await put(await add());
    receiver.answers.push({ status: 307, headers: { location: `${receiver.url}/elsewhere` } });
    await deliverDue(test.hub);
    expect(receiver.got).toHaveLength(1);
    expect(await states()).toEqual(["given-up"]);
  });

  it("beyond the rate of its channel waits for the next minute, in its order", async () => {
    const id = await add("webhook", { perMinute: 2 });
    for (const title of ["one", "two", "three"]) {
      await put(id, message({ title }));
      test.advance(10);
    }
    await deliverDue(test.hub);
    expect(receiver.got.map(({ body }) => (JSON.parse(body) as AlertMessage).title)).toEqual(["one", "two"]);
    test.advance(61_000);
    await deliverDue(test.hub);
    expect(receiver.got).toHaveLength(3);
  });

  it("that waits survives a restart of the hub", async () => {
    const { id } = await put(await add());
    await test.restart();
    await deliverDue(test.hub);
    expect(receiver.got[0]?.headers["idempotency-key"]).toBe(id);
  });
});

describe("hostile text", () => {
  const evil = "<!channel> <https://evil.example|click> @everyone **x** [a](https://evil.example) & `q`";

  it("cannot mention or link in Slack", () => {
    const body = JSON.parse(written("slack", { title: evil, lines: [evil] }).body) as {
      text: string;
      blocks: { type: string; text?: { type: string }; elements?: { type: string; text: string }[] }[];
    };
    expect(body.text).not.toMatch(/<|>/);
    expect(body.blocks.flatMap(({ text }) => text?.type ?? [])).toEqual(["plain_text", "plain_text", "plain_text"]);
    const links = body.blocks.flatMap(({ elements = [] }) => elements).filter(({ type }) => type === "mrkdwn");
    expect(links.map(({ text }) => text)).toEqual(["<https://tidemark.example.com/nodes/1|Open Tidemark>"]);
  });

  it("cannot mention, format or link in Discord", () => {
    const body = JSON.parse(written("discord", { title: evil, lines: [evil] }).body) as {
      allowed_mentions: object;
      embeds: { description: string; title: string }[];
    };
    expect(body.allowed_mentions).toEqual({ parse: [] });
    for (const text of [body.embeds[0]?.title ?? "", body.embeds[0]?.description ?? ""]) {
      expect(text).not.toMatch(/(^|[^\\])[<@*[`]/);
      expect(text).not.toContain("https://evil");
    }
  });

  it("is plain text in ntfy, and never a header", () => {
    const { headers, body } = written("ntfy", { title: `${evil}\r\nX-Evil: 1` });
    expect(Object.keys(headers).toSorted()).toEqual(["authorization", "content-type", "idempotency-key"]);
    expect(JSON.parse(body)).not.toHaveProperty("markdown");
  });
});

it("the example in the documentation takes what is signed, and nothing that was changed, is old or has another key", async () => {
  const docs = await readFile(join(import.meta.dirname, "../../../docs/alerts.md"), "utf8");
  const source = /```js verify\.mjs\n([\s\S]*?)```/.exec(docs)?.[1] ?? "";
  const folder = await mkdtemp(join(tmpdir(), "tidemark-verify-"));
  try {
    await writeFile(join(folder, "verify.mjs"), source);
    const { isFromTidemark } = (await import(pathToFileURL(join(folder, "verify.mjs")).href)) as {
      isFromTidemark: (about: { headers: object; body: string; key: string; nowSeconds: number }) => boolean;
    };
    const { headers, body } = written("webhook");
    const nowSeconds = 1_795_352_880;
    expect(isFromTidemark({ headers, body, key: KEY, nowSeconds })).toBe(true);
    expect(isFromTidemark({ headers, body: body.replace("gpu-7", "gpu-8"), key: KEY, nowSeconds })).toBe(false);
    expect(isFromTidemark({ headers, body, key: "another-key-of-some-length", nowSeconds })).toBe(false);
    expect(isFromTidemark({ headers, body, key: KEY, nowSeconds: nowSeconds + 301 })).toBe(false);
    const later = { ...headers, "tidemark-timestamp": String(nowSeconds + 301) };
    expect(isFromTidemark({ headers: later, body, key: KEY, nowSeconds: nowSeconds + 301 })).toBe(false);
    expect(isFromTidemark({ headers: {}, body, key: KEY, nowSeconds })).toBe(false);
    const mac = createHmac("sha256", KEY).update(`${nowSeconds}.${body}`).digest("hex");
    expect(headers["tidemark-signature"]).toBe(`v1=${mac}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
