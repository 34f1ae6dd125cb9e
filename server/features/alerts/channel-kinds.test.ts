import { createHmac } from "node:crypto";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import { CHANNEL_KIND_NAMES, secretProblems, wholeSecret, type ChannelKind } from "#protocol/alerts/channel-kinds.ts";
import { TRIAL_TLS } from "#storage/testing/trial-certificate.ts";
import { callAs, openTestHub, type TestHub } from "#server/testing/open-test-hub.ts";
import { readReach } from "#server/platform/reach.ts";
import { beginDue, deliverDue } from "./deliver.ts";
import { openMailReceiver, type MailReceiver } from "#storage/testing/open-mail-receiver.ts";
import { makeMessage, putMessage } from "./make-message.ts";
import { openReceiver, type Receiver } from "#server/testing/open-receiver.ts";
import { sendMail } from "./send-mail.ts";
import { writeMail } from "./write-mail.ts";
import { writeRequests } from "#storage/webhooks/write-request.ts";

let test: TestHub;
let receiver: Receiver;
const closing: { close: () => Promise<void> }[] = [];
beforeEach(async () => {
  receiver = await openReceiver();
  test = await openTestHub();
});
afterEach(async () => {
  await test.close();
  await receiver.close();
  for (const one of closing.splice(0)) await one.close();
});
const mailServer = async (rules: Parameters<typeof openMailReceiver>[0] = {}): Promise<MailReceiver> => {
  const server = await openMailReceiver(rules);
  closing.push(server);
  return server;
};

const admin = () => callAs(test.hub, "admin").alerts;
const message = (changes: Partial<AlertMessage> = {}) => makeMessage({ ruleId: "rule-1", remaining: 1, ...changes });
const put = (channelId: string, body = message()) => putMessage(test.hub, channelId, body);
const add = async (kind: ChannelKind, secret: object, changes: object = {}): Promise<string> =>
  (await admin().channels.create({ channel: { name: `to ${kind}`, kind, ...changes }, secret })).id;
const bodies = () => receiver.got.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

const mailTo = ({ host, port }: MailReceiver) => ({
  host,
  port,
  tls: "none",
  from: "tidemark@example.com",
  to: "ops@example.com, night@example.com",
});

describe("a mail", () => {
  it("arrives at every recipient, with the message, once", async () => {
    const server = await mailServer({ login: { user: "tidemark", password: "p w" } });
    const id = await add("email", { ...mailTo(server), user: "tidemark", password: "p w" });
    const row = await put(id);
    await deliverDue(test.hub);
    await deliverDue(test.hub);
    expect(server.got).toMatchObject([
      { from: "tidemark@example.com", to: ["ops@example.com", "night@example.com"], user: "tidemark" },
    ]);
    const [mail] = server.got;
    expect(mail?.text).toContain("Subject: [critical] gpu-7 has been silent for 6 min.");
    expect(mail?.text).toContain("See whether the machine still runs.");
    expect(mail?.text).toContain(`Message-ID: <${row.id}@example.com>`);
    expect(mail?.text.replaceAll(/\r\n (?=<)/g, " ")).toContain(`References: <tidemark-${id}-rule-1@example.com>`);
    expect(mail?.text).toContain("Auto-Submitted: auto-generated");
  });

  it("is a test as well, and a wrong password is said without what the server wrote", async () => {
    const server = await mailServer({ login: { user: "tidemark", password: "right" } });
    const id = await add("email", { ...mailTo(server), user: "tidemark", password: "wrong" });
    const answer = await admin().test({ id });
    expect(answer).toMatchObject({ ok: false, fault: { code: "CHANNEL_REFUSED" } });
    expect(answer.fault?.detail).toBe("the mail server refused the user or the password");
    expect(server.got).toEqual([]);
  });

  it("to a mailbox that does not exist is given up", async () => {
    const server = await mailServer({ unknown: "ops@example.com" });
    const id = await add("email", { ...mailTo(server), to: "ops@example.com" });
    expect(await admin().test({ id })).toMatchObject({ fault: { code: "CHANNEL_REFUSED", detail: "SMTP 550" } });
  });

  it("sends no password before the connection is encrypted", async () => {
    const server = await mailServer({ login: { user: "tidemark", password: "secret" } });
    const id = await add("email", { ...mailTo(server), tls: "starttls", user: "tidemark", password: "secret" });
    expect(await admin().test({ id })).toMatchObject({ ok: false });
    expect(server.got).toEqual([]);
  });

  it("trusts no certificate that nobody vouched for", async () => {
    const server = await mailServer({ tls: "asked" });
    const id = await add("email", { ...mailTo(server), tls: "starttls" });
    expect(await admin().test({ id })).toMatchObject({ ok: false, fault: { code: "CHANNEL_UNREACHABLE" } });
    expect(server.got).toEqual([]);
  });

  it.each([
    ["starttls", "asked"],
    ["tls", "start"],
  ] as const)("is encrypted in the mode %s, to a server whose authority is trusted", async (tls, when) => {
    const before = getCACertificates("default");
    setDefaultCACertificates([...before, TRIAL_TLS.cert]);
    try {
      const certificate = { key: TRIAL_TLS.key, cert: TRIAL_TLS.cert };
      const server = await mailServer({ tls: when, certificate, login: { user: "tidemark", password: "secret" } });
      const id = await add("email", {
        ...mailTo(server),
        tls,
        user: "tidemark",
        password: "secret",
      });
      expect(await admin().test({ id })).toMatchObject({ ok: true, kind: "email" });
      expect(server.got).toMatchObject([{ user: "tidemark", isEncrypted: true }]);
    } finally {
      setDefaultCACertificates(before);
    }
  });

  it("goes to no internal address, neither when it is entered nor later", async () => {
    const server = await mailServer();
    const id = await add("email", mailTo(server));
    await put(id);
    const metadata = { ...mailTo(server), host: "169.254.169.254" };
    await expect(add("email", metadata, { name: "evil" })).rejects.toThrow("metadata");
    Object.assign(test.hub.reach, { rules: readReach({}, { isLoopback: false }) });
    await expect(add("email", mailTo(server), { name: "inside" })).rejects.toThrow("private address");
    await deliverDue(test.hub);
    expect(server.got).toEqual([]);
    expect((await test.hub.db.alertMessage.findMany()).map(({ state }) => state)).toEqual(["given-up"]);
  });

  it("to a public server goes with TLS only, on the ports of mail", async () => {
    Object.assign(test.hub.reach, {
      rules: readReach({}, { isLoopback: false }),
      resolve: async () => ["8.8.8.8"],
    });
    const to = { host: "mail.example.com", from: "a@example.com", to: "b@example.com" };
    await expect(add("email", { ...to, tls: "none" })).rejects.toThrow("in the clear");
    await expect(add("email", { ...to, port: "22" })).rejects.toThrow("not among those of mail servers");
    await add("email", to);
    expect((await admin().channels.list()).map(({ hint }) => hint)).toEqual(["mail.example.com:587"]);
  });

  it("has its time", async () => {
    const server = await mailServer({ hold: new Promise(() => undefined) });
    const secret = wholeSecret("email", mailTo(server));
    const mail = writeMail({ id: "m", message: message(), secret, incident: "i" });
    const sending = sendMail(mail, {
      secret,
      reach: test.hub.reach,
      signal: new AbortController().signal,
      sendMs: 200,
    });
    await expect(sending).rejects.toThrow("no answer within 0.2 s");
  });

  it("has no header that a name wrote", async () => {
    const server = await mailServer();
    await put(await add("email", mailTo(server)), message({ title: "a\r\nBcc: evil@example.com\r\n\r\nx" }));
    await deliverDue(test.hub);
    expect(server.got[0]?.to).toEqual(["ops@example.com", "night@example.com"]);
    expect(server.got[0]?.text.split("\r\n\r\n")[0]).not.toMatch(/^Bcc:/m);
  });
});

it("a mail server that does not answer delays no other channel", async () => {
  let letGo: () => void = () => undefined;
  const hold = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const server = await mailServer({ hold });
  await put(await add("email", mailTo(server)));
  const [slow] = await beginDue(test.hub);
  const hook = await add("webhook", { url: `${receiver.url}/hook`, key: "a-signing-key-of-some-length" });
  for (const title of ["one", "two"]) {
    await put(hook, message({ title }));
    await deliverDue(test.hub);
  }
  expect(bodies().map(({ title }) => title)).toEqual(["one", "two"]);
  expect((await admin().channels.list()).find(({ channel }) => channel.kind === "email")?.lastSentAt).toBeNull();
  letGo();
  await slow;
  expect(server.got).toHaveLength(1);
  expect((await test.hub.db.alertMessage.findMany()).every(({ state }) => state === "sent")).toBe(true);
});

it("what is critical leaves before what is not, however long that waits", async () => {
  const hook = await add(
    "webhook",
    { url: `${receiver.url}/hook`, key: "a-signing-key-of-some-length" },
    { perMinute: 2 },
  );
  await put(hook, message({ title: "info", severity: "info" }));
  test.advance(10);
  await put(hook, message({ title: "warning", severity: "warning" }));
  test.advance(10);
  await put(hook, message({ title: "critical" }));
  await deliverDue(test.hub);
  test.advance(61_000);
  await deliverDue(test.hub);
  expect(bodies().map(({ title }) => title)).toEqual(["critical", "warning", "info"]);
});

describe("PagerDuty", () => {
  const key = "0123456789abcdef0123456789abcdef";
  it("gets an incident of each rule, which ends when nothing of the rule fires any more", async () => {
    const id = await add("pagerduty", { url: `${receiver.url}/v2/enqueue`, key });
    for (const changes of [
      {},
      { kind: "resolved" as const, title: "Over: gpu-7.", remaining: 2 },
      { kind: "resolved" as const, title: "Over: 2 nodes.", remaining: 0 },
    ]) {
      await put(id, message(changes));
      await deliverDue(test.hub);
    }
    expect(bodies()).toMatchObject([
      {
        routing_key: key,
        event_action: "trigger",
        dedup_key: `tidemark-${id}-rule-1`,
        client_url: "https://tidemark.example.com/nodes/1",
        payload: { summary: "gpu-7 has been silent for 6 min.", severity: "critical", source: "tidemark" },
      },
      { event_action: "trigger", dedup_key: `tidemark-${id}-rule-1`, payload: { summary: "Over: gpu-7." } },
      { event_action: "resolve", dedup_key: `tidemark-${id}-rule-1` },
    ]);
  });

  it("gets a test that opens an incident and closes it again, and the key is never shown", async () => {
    const id = await add("pagerduty", { url: receiver.url, key });
    expect(await admin().test({ id })).toMatchObject({ ok: true, kind: "pagerduty" });
    const events = bodies();
    expect(events.map(({ event_action }) => event_action)).toEqual(["trigger", "resolve"]);
    expect(events[0]?.["dedup_key"]).toBe(events[1]?.["dedup_key"]);
    expect(JSON.stringify(await admin().channels.list())).not.toContain(key);
  });
});

describe("Opsgenie", () => {
  const key = "eb243592-faa2-4ba2-a551q-1afdf565c889";
  it("gets an alert of each rule by its alias, which is closed when nothing of the rule fires any more", async () => {
    const id = await add("opsgenie", { url: receiver.url, key });
    await put(id);
    await deliverDue(test.hub);
    await put(id, message({ kind: "resolved", title: "Over: gpu-7.", remaining: 0 }));
    await deliverDue(test.hub);
    const alias = `tidemark-${id}-rule-1`;
    expect(receiver.got.map(({ path }) => path)).toEqual([
      "/v2/alerts",
      `/v2/alerts/${alias}/close?identifierType=alias`,
    ]);
    expect(receiver.got.map(({ headers }) => headers.authorization)).toEqual([`GenieKey ${key}`, `GenieKey ${key}`]);
    expect(bodies()[0]).toMatchObject({ alias, message: "gpu-7 has been silent for 6 min.", priority: "P1" });
  });

  it("gets a test", async () => {
    const id = await add("opsgenie", { url: receiver.url, key });
    expect(await admin().test({ id })).toMatchObject({ ok: true });
    expect(receiver.got).toHaveLength(2);
  });
});

describe("a webhook in the form of Standard Webhooks", () => {
  const signed = (key: string) => {
    const about = { id: "msg-1", incident: "i", message: message(), now: 1_614_265_330_000 };
    const [request] = writeRequests("webhook", {
      ...about,
      secret: wholeSecret("webhook", { url: receiver.url, key }),
    });
    return { headers: request?.headers ?? {}, body: request?.body ?? "" };
  };

  it("is signed with the bytes of a whsec_ key over id, time and body", () => {
    const { headers, body } = signed("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    expect(headers["webhook-id"]).toBe("msg-1");
    expect(headers["webhook-timestamp"]).toBe("1614265330");
    const bytes = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64");
    const mac = createHmac("sha256", bytes).update(`msg-1.1614265330.${body}`).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${mac}`);
    expect(headers["tidemark-signature"]).toMatch(/^v1=[0-9a-f]{64}$/);
  });

  it("is signed with any other key as it is", () => {
    const { headers, body } = signed("a-signing-key-of-some-length");
    const mac = createHmac("sha256", "a-signing-key-of-some-length")
      .update(`msg-1.1614265330.${body}`)
      .digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${mac}`);
  });
});

describe("the first channel", () => {
  const secret = { url: "https://hooks.example.com/x", key: "a-signing-key-of-some-length" };
  it("can be named by all rules at once, and by those that come later", async () => {
    Object.assign(test.hub.reach, { resolve: async () => ["8.8.8.8"] });
    const before = await admin().rules.list();
    const channel = { name: "hook", kind: "webhook" as const, isDefault: true };
    const { id } = await admin().channels.create({ channel, secret, forAllRules: true });
    const rules = await admin().rules.list();
    expect(rules).toHaveLength(before.length);
    expect(rules.every(({ rule }) => rule.channelIds.includes(id))).toBe(true);
    const rule = { name: "later", condition: { kind: "silent" as const } };
    await admin().rules.create({ rule });
    await admin().rules.create({ rule: { ...rule, name: "nobody", channelIds: [] } });
    const channels = new Map((await admin().rules.list()).map((view) => [view.rule.name, view.rule.channelIds]));
    expect(channels.get("later")).toEqual([id]);
    expect(channels.get("nobody")).toEqual([]);
    await test.restart();
    expect((await admin().rules.list()).filter((view) => view.rule.channelIds.includes(id))).toHaveLength(
      before.length + 1,
    );
  });

  it("is named by none unless it was asked for", async () => {
    Object.assign(test.hub.reach, { resolve: async () => ["8.8.8.8"] });
    await admin().channels.create({ channel: { name: "hook", kind: "webhook" }, secret });
    expect((await admin().rules.list()).every(({ rule }) => rule.channelIds.length === 0)).toBe(true);
  });
});

it("rules are listed the gravest first", async () => {
  const grades = (await admin().rules.list()).map(({ rule }) => rule.severity);
  expect(grades).toEqual(grades.toSorted((a, b) => Number(b === "critical") - Number(a === "critical")));
  expect(grades[0]).toBe("critical");
});

it("a mute says why, by whom and until when, and can be ended", async () => {
  const { mutedUntil } = await callAs(test.hub, "operator").alerts.mute({
    ruleId: "default-silent",
    forMs: 3_600_000,
    reason: "gpu-7 is being repaired",
  });
  const find = async () => (await admin().rules.list()).find(({ id }) => id === "default-silent");
  expect(await find()).toMatchObject({
    mutedUntil,
    muteReason: "gpu-7 is being repaired",
    mutedBy: "operator@example.com",
  });
  await test.restart();
  expect(await find()).toMatchObject({ mutedUntil, muteReason: "gpu-7 is being repaired" });
  await callAs(test.hub, "operator").alerts.mute({ ruleId: "default-silent", forMs: 0 });
  expect(await find()).toMatchObject({ mutedUntil: null, muteReason: "", mutedBy: "" });
});

it.each(CHANNEL_KIND_NAMES)("%s says which of its fields are missing, in the words of their labels", (kind) => {
  const problems = Object.values(secretProblems(kind, {}));
  expect(problems.length).toBeGreaterThan(0);
  for (const problem of problems) expect(problem).toMatch(/ is missing$/);
});
