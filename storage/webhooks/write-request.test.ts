import { expect, it } from "vitest";
import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import type { ChannelSecret } from "#protocol/alerts/channel-kinds.ts";
import { writeRequests } from "./write-request.ts";

/** A message of a node without a hub has no link, and may have no advice. Messages of a hub: `server/features/alerts`. */

const secret: ChannelSecret = {
  url: "https://hooks.example.com/topic",
  key: "",
  host: "",
  port: "",
  tls: "",
  user: "",
  password: "",
  from: "",
  to: "",
};
const message: AlertMessage = {
  kind: "resolved",
  severity: "critical",
  rule: "not-safe llama gpu-1",
  title: "gpu-1: nothing of llama waits any more",
  lines: [],
  todo: "",
  link: "",
  at: 1,
  count: 1,
  alerts: [],
};
const bodyOf = (kind: "slack" | "discord" | "ntfy" | "webhook") => {
  const [request] = writeRequests(kind, { id: "message-0001", message, secret, incident: "not-safe", now: 1 });
  return { ...request, body: JSON.parse(request?.body ?? "{}") as Record<string, unknown> };
};

it("has no block without a text for Slack, which refuses those", () => {
  const texts = JSON.stringify(bodyOf("slack").body);
  expect(texts).toContain("nothing of llama waits any more");
  expect(texts).not.toContain('"text":""');
  expect(texts).not.toContain("<|");
});

it("has no empty address for Discord and ntfy, and no signature without a key", () => {
  expect(JSON.stringify(bodyOf("discord").body)).not.toContain('"url":""');
  expect(bodyOf("ntfy").body).not.toHaveProperty("click");
  expect(bodyOf("webhook").headers).not.toHaveProperty("webhook-signature");
});
