import type { AlertKind, ChannelDraft, RuleDraft } from "./alerts.ts";
import type { Severity } from "./alert-words.ts";
import type { ChannelKind } from "./channel-kinds.ts";
import type { FaultData } from "../faults/fault.ts";

/** What people see of alerts. Times are epoch milliseconds by the hub's clock. */

export interface RuleView {
  id: string;
  version: number;
  rule: RuleDraft;
  firing: number;
  mutedUntil: number | null;
  /** Why it is muted, and who said so; empty where nobody did. */
  muteReason: string;
  mutedBy: string;
  /** When a message about it went out last. */
  toldAt: number | null;
  updatedAt: number;
}

export interface ChannelView {
  id: string;
  version: number;
  channel: ChannelDraft;
  /** The host of its address. The address itself is never shown. */
  hint: string;
  waiting: number;
  lastSentAt: number | null;
  /** Of the last try; null when it succeeded. */
  lastFault: FaultData | null;
  updatedAt: number;
}

export interface AlertRow {
  id: string;
  ruleId: string;
  ruleName: string;
  kind: AlertKind;
  severity: Severity;
  nodeId: string | null;
  nodeName: string | null;
  run: string | null;
  /** The rest of the sentence after the subject's name. A stranger's words may be in it. */
  text: string;
  /** From where the runs of a silent node go on, by the hub's record; null of other kinds, and of what is over. */
  advice: string | null;
  /** Page of the subject, from the root of the hub. */
  path: string;
  since: number;
  firedAt: number;
  resolvedAt: number | null;
  acknowledgedAt: number | null;
  acknowledgedBy: string | null;
  /** When its message was written; null while it waits for others, is muted, or has no channel. */
  toldAt: number | null;
  mutedUntil: number | null;
}

/** What a channel is told, before it is written in that channel's own form. Kept as JSON in the outbox. */
export interface AlertMessage {
  kind: "firing" | "resolved" | "test";
  severity: Severity;
  rule: string;
  /** The same for all messages of a rule; empty in a test. Messages written before this was told lack it. */
  ruleId?: string;
  /** How many alerts of the rule that were told still fire after this message. */
  remaining?: number;
  /** One sentence: what. */
  title: string;
  /** Since when, and who. */
  lines: string[];
  /** What to do. */
  todo: string;
  link: string;
  at: number;
  count: number;
  /** The first of them. */
  alerts: { id: string; node: string | null; run: string | null; text: string; since: number }[];
}

export interface TestAnswer {
  ok: boolean;
  kind: ChannelKind;
  fault: FaultData | null;
  tookMs: number;
}
