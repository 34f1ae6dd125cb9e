import type { AlertMessage } from "#protocol/alerts/alert-views.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { rowOf } from "./tell.ts";

/** Makes a message for tests: one critical alert of a silent node. */
export const makeMessage = (changes: Partial<AlertMessage> = {}): AlertMessage => ({
  kind: "firing",
  severity: "critical",
  rule: "A node is silent",
  title: "gpu-7 has been silent for 6 min.",
  lines: ["Since 2026-11-22 13:02 UTC, 6 min ago."],
  todo: "See whether the machine still runs.",
  link: "https://tidemark.example.com/nodes/1",
  at: 1_795_352_880_000,
  count: 1,
  alerts: [],
  ...changes,
});

/** Puts a message into the outbox of a channel and returns its row. */
export const putMessage = (hub: Pick<Hub, "db" | "now">, channelId: string, message: AlertMessage) =>
  hub.db.alertMessage.create({ data: rowOf(channelId, message, new Date(hub.now())) });
