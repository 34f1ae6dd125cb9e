import { createHmac } from "node:crypto";
import type { ChannelKind, ChannelSecret, Severity } from "#protocol/alerts.ts";
import type { AlertMessage } from "#protocol/alert-views.ts";

/**
 * A message in each channel's own form. Names and texts in it are strangers': what a channel would read as markup, a link or
 * a mention is escaped here, each in its own way, and none of it ever becomes a header. Sources: Slack's "Formatting text"
 * and Block Kit, Discord's "Execute Webhook" and markdown, ntfy's "Publish as JSON".
 */
export interface OutgoingRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
}

interface Writing {
  /** Of the outbox: the same at every try. */
  id: string;
  message: AlertMessage;
  secret: ChannelSecret;
  /** Epoch ms, for the signature. */
  now: number;
}

export const writeRequest = (kind: ChannelKind, writing: Writing): OutgoingRequest => WRITERS[kind](writing);

const WRITERS: Readonly<Record<ChannelKind, (writing: Writing) => OutgoingRequest>> = {
  slack: forSlack,
  discord: forDiscord,
  ntfy: forNtfy,
  webhook: forWebhook,
};

const post = ({ id }: Writing, url: string, body: unknown): OutgoingRequest => ({
  url,
  headers: { "content-type": "application/json; charset=utf-8", "idempotency-key": id },
  body: JSON.stringify(body),
});

const short = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);

/** `&`, `<` and `>` are all that Slack reads in text; the rest of its markup is switched off where it could be. */
const escapeSlack = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const SLACK_TEXT = 2_900;

function forSlack(writing: Writing): OutgoingRequest {
  const { message, secret } = writing;
  const plain = (text: string) => ({ type: "plain_text", text: short(text, SLACK_TEXT), emoji: false });
  const details = message.lines.join("\n");
  return post(writing, secret.url, {
    // For notifications, which show no blocks.
    text: short(escapeSlack(message.title), SLACK_TEXT),
    mrkdwn: false,
    blocks: [
      { type: "section", text: plain(`${SIGN[message.kind]} ${message.title}`) },
      ...(details === "" ? [] : [{ type: "section", text: plain(details) }]),
      { type: "section", text: plain(message.todo) },
      {
        type: "context",
        elements: [
          { type: "mrkdwn", text: `<${escapeSlack(message.link)}|Open Tidemark>` },
          plain(`${message.rule} · ${message.severity}`),
        ],
      },
    ],
  });
}

const SIGN: Readonly<Record<AlertMessage["kind"], string>> = { firing: "▲", resolved: "✓", test: "●" };

/** Everything that Discord's markdown, mentions and links begin with; lists and headings only where a line begins. */
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
        url: message.link,
        description: short(lines.join("\n").trim(), 4_000),
        color: message.kind === "resolved" ? RESOLVED_COLOUR : COLOURS[message.severity],
        timestamp: new Date(message.at).toISOString(),
        footer: { text: short(`${message.rule} · ${message.severity}`, 200) },
      },
    ],
  });
}

const NTFY_PRIORITY: Readonly<Record<Severity, number>> = { info: 2, warning: 4, critical: 5 };

/** As JSON at the root of the server, so that no text becomes a header; without `markdown` it is shown as it is. */
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
    click: message.link,
  });
  if (secret.key !== "") request.headers["authorization"] = `Bearer ${secret.key}`;
  return request;
}

/** `tidemark-signature: v1=HEX`: HMAC-SHA256 of `TIMESTAMP.BODY`, where the timestamp is that of the header beside it. */
function forWebhook(writing: Writing): OutgoingRequest {
  const { id, message, secret, now } = writing;
  const request = post(writing, secret.url, { version: 1, id, ...message });
  const timestamp = String(Math.floor(now / 1000));
  const mac = createHmac("sha256", secret.key).update(`${timestamp}.${request.body}`).digest("hex");
  request.headers["tidemark-timestamp"] = timestamp;
  request.headers["tidemark-signature"] = `v1=${mac}`;
  return request;
}
