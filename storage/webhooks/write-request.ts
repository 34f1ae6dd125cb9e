import { createHmac } from "node:crypto";
import type { Severity } from "#protocol/alerts/severities.ts";
import type { ChannelKind, ChannelSecret } from "#protocol/alerts/channel-kinds.ts";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";

/**
 * An HTTP request of a message, in the form of its channel. Names and texts in a message are untrusted. Markup, links and
 * mentions are escaped for each channel, and no text becomes a header. Sources: Slack's "Formatting text" and Block Kit,
 * Discord's "Execute Webhook" and markdown, ntfy's "Publish as JSON", PagerDuty's "Events API v2", Opsgenie's "Alert API", and
 * standardwebhooks.com.
 */
export interface OutgoingRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
}

interface Writing {
  /** Id of the outbox row: the same at every try. */
  id: string;
  message: AlertMessage;
  secret: ChannelSecret;
  /** Deduplication key, one for each rule and channel, by which incidents are opened and closed. */
  incident: string;
  /** Epoch ms, for the signature. */
  now: number;
}

/** Channel kinds whose messages are HTTP requests. */
type HttpKind = Exclude<ChannelKind, "email">;

/** Returns the requests of one message, to be sent one after the other. */
export const writeRequests = (kind: HttpKind, writing: Writing): OutgoingRequest[] => WRITERS[kind](writing);

const WRITERS: Readonly<Record<HttpKind, (writing: Writing) => OutgoingRequest[]>> = {
  slack: (writing) => [forSlack(writing)],
  discord: (writing) => [forDiscord(writing)],
  ntfy: (writing) => [forNtfy(writing)],
  webhook: (writing) => [forWebhook(writing)],
  pagerduty: forPagerDuty,
  opsgenie: forOpsgenie,
};

const post = ({ id }: Writing, url: string, body: unknown): OutgoingRequest => ({
  url,
  headers: { "content-type": "application/json; charset=utf-8", "idempotency-key": id },
  body: JSON.stringify(body),
});

const short = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

/** Escapes `&`, `<` and `>`, the only control characters of Slack text. `mrkdwn` and `plain_text` switch other markup off. */
const escapeSlack = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const SLACK_TEXT = 2_900;

function forSlack(writing: Writing): OutgoingRequest {
  const { message, secret } = writing;
  const plain = (text: string) => ({ type: "plain_text", text: short(text, SLACK_TEXT), emoji: false });
  const details = message.lines.join("\n");
  return post(writing, secret.url, {
    // Notifications show this text, because they show no blocks.
    text: short(escapeSlack(message.title), SLACK_TEXT),
    mrkdwn: false,
    blocks: [
      { type: "section", text: plain(`${SIGN[message.kind]} ${message.title}`) },
      ...(details === "" ? [] : [{ type: "section", text: plain(details) }]),
      // Slack refuses a block with an empty text.
      ...(message.todo === "" ? [] : [{ type: "section", text: plain(message.todo) }]),
      {
        type: "context",
        elements: [
          ...(message.link === "" ? [] : [{ type: "mrkdwn", text: `<${escapeSlack(message.link)}|Open Tidemark>` }]),
          plain(`${message.rule} · ${message.severity}`),
        ],
      },
    ],
  });
}

const SIGN: Readonly<Record<AlertMessage["kind"], string>> = { firing: "▲", resolved: "✓", test: "●" };

/** Escapes everything that begins markdown, mentions and links of Discord; lists and headings only at the start of a line. */
const escapeDiscord = (text: string): string =>
  text.replace(/[\\*_~`|>[\]()<@]|^[-#]/gm, (char) => `\\${char}`).replaceAll("://", ":\u200b//");

const COLOURS: Readonly<Record<Severity, number>> = { info: 0x3b82f6, warning: 0xd97706, critical: 0xdc2626 };
const RESOLVED_COLOUR = 0x16a34a;

function forDiscord(writing: Writing): OutgoingRequest {
  const { message, secret } = writing;
  const lines = [...message.lines.map(escapeDiscord), "", escapeDiscord(message.todo)];
  return post(writing, secret.url, {
    username: "Tidemark",
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: short(escapeDiscord(message.title), 250),
        ...(message.link !== "" && { url: message.link }),
        description: short(lines.join("\n").trim(), 4_000),
        color: message.kind === "resolved" ? RESOLVED_COLOUR : COLOURS[message.severity],
        timestamp: new Date(message.at).toISOString(),
        footer: { text: short(`${message.rule} · ${message.severity}`, 200) },
      },
    ],
  });
}

const NTFY_PRIORITY: Readonly<Record<Severity, number>> = { info: 2, warning: 4, critical: 5 };

/**
 * Writes JSON to the root of the server, so that no text becomes a header; without `markdown` the text is not
 * interpreted.
 */
function forNtfy(writing: Writing): OutgoingRequest {
  const { message, secret } = writing;
  const url = new URL(secret.url);
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const topic = decodeURIComponent(segments.pop() ?? "");
  url.pathname = `/${segments.join("/")}`;
  const request = post(writing, url.href, {
    topic,
    title: short(message.title, 200),
    message: short([...message.lines, message.todo].join("\n"), 3_500),
    priority: message.kind === "firing" ? NTFY_PRIORITY[message.severity] : 2,
    tags: [message.kind === "resolved" ? "white_check_mark" : message.kind === "test" ? "bell" : "warning"],
    ...(message.link !== "" && { click: message.link }),
  });
  if (secret.key !== "") request.headers["authorization"] = `Bearer ${secret.key}`;
  return request;
}

/** Returns the bytes of a key: decoded when it has the form of Standard Webhooks, else as text. */
const webhookKey = (key: string): Buffer =>
  /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(key) ? Buffer.from(key.slice("whsec_".length), "base64") : Buffer.from(key);

/**
 * Writes a webhook request with two signatures, or none without a key. `tidemark-signature: v1=HEX`: HMAC-SHA256 of
 * `TIMESTAMP.BODY`, with the timestamp of the header beside it. Standard Webhooks, `webhook-signature: v1,BASE64`:
 * HMAC-SHA256 of `ID.TIMESTAMP.BODY`.
 */
function forWebhook(writing: Writing): OutgoingRequest {
  const { id, message, secret, now } = writing;
  const request = post(writing, secret.url, { version: 1, id, ...message });
  if (secret.key === "") return request;
  const timestamp = String(Math.floor(now / 1000));
  const mac = createHmac("sha256", secret.key).update(`${timestamp}.${request.body}`).digest("hex");
  request.headers["tidemark-timestamp"] = timestamp;
  request.headers["tidemark-signature"] = `v1=${mac}`;
  const standard = createHmac("sha256", webhookKey(secret.key)).update(`${id}.${timestamp}.${request.body}`);
  request.headers["webhook-id"] = id;
  request.headers["webhook-timestamp"] = timestamp;
  request.headers["webhook-signature"] = `v1,${standard.digest("base64")}`;
  return request;
}

/**
 * Returns whether an incident ends: with the last alert of its rule. Earlier ends are further events of the incident.
 */
const isOver = ({ kind, remaining = 0 }: AlertMessage): boolean => kind === "resolved" && remaining === 0;

/** Returns the steps of a message; a test opens an incident and closes it again. */
const stepsOf = <T>({ message }: Writing, { open, close }: { open: () => T; close: () => T }): T[] =>
  message.kind === "test" ? [open(), close()] : [isOver(message) ? close() : open()];

function forPagerDuty(writing: Writing): OutgoingRequest[] {
  const { message, secret, incident } = writing;
  const event = (body: object) =>
    post(writing, secret.url, { routing_key: secret.key, dedup_key: incident, client: "Tidemark", ...body });
  const open = () =>
    event({
      event_action: "trigger",
      client_url: message.link,
      links: [{ href: message.link, text: "Open Tidemark" }],
      payload: {
        summary: short(message.title, 1_000),
        source: "tidemark",
        severity: message.severity,
        timestamp: new Date(message.at).toISOString(),
        class: message.rule,
        custom_details: { lines: message.lines.join("\n"), todo: message.todo, count: message.count },
      },
    });
  return stepsOf(writing, { open, close: () => event({ event_action: "resolve" }) });
}

const OPSGENIE_PRIORITY: Readonly<Record<Severity, string>> = { critical: "P1", warning: "P3", info: "P5" };

function forOpsgenie(writing: Writing): OutgoingRequest[] {
  const { message, secret, incident } = writing;
  const call = (path: string, body: object): OutgoingRequest => {
    const request = post(writing, `${secret.url.replace(/\/+$/, "")}/v2/alerts${path}`, body);
    request.headers["authorization"] = `GenieKey ${secret.key}`;
    return request;
  };
  const open = () =>
    call("", {
      message: short(message.title, 130),
      alias: incident,
      description: short([message.title, ...message.lines, "", message.todo, message.link].join("\n"), 15_000),
      priority: OPSGENIE_PRIORITY[message.severity],
      source: "tidemark",
      tags: [message.severity],
      details: { rule: message.rule, link: message.link, count: String(message.count) },
    });
  const close = () =>
    call(`/${encodeURIComponent(incident)}/close?identifierType=alias`, {
      source: "tidemark",
      note: short(message.title, 15_000),
    });
  return stepsOf(writing, { open, close });
}
