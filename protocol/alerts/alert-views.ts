import type { AlertKind, ChannelDraft, RuleDraft } from "./alerts.ts";
import type { Severity } from "./severities.ts";
import type { ChannelKind } from "./channel-kinds.ts";
import type { FaultData } from "../faults/fault.ts";

/** Alerts as pages show them. Times are epoch milliseconds by the hub's clock. */

export interface RuleView {
  id: string;
  version: number;
  rule: RuleDraft;
  firing: number;
  mutedUntil: number | null;
  /** Reason of the mute and the person who set it; empty without a mute. */
  muteReason: string;
  mutedBy: string;
  /** Time of the last message about the rule. */
  toldAt: number | null;
  updatedAt: number;
}

export interface ChannelView {
  id: string;
  version: number;
  channel: ChannelDraft;
  /** Host of the channel's address. The address itself is never shown. */
  hint: string;
  waiting: number;
  lastSentAt: number | null;
  /** Fault of the last attempt; null when it succeeded. */
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
  /** The rest of the sentence after the subject's name. May contain text that a node supplied. */
  text: string;
  /** Says from where the runs of a silent node continue, by the hub's record; null for other kinds and for resolved alerts. */
  advice: string | null;
  /** Page of the subject, from the root of the hub. */
  path: string;
  since: number;
  firedAt: number;
  resolvedAt: number | null;
  acknowledgedAt: number | null;
  acknowledgedBy: string | null;
  /** Time at which its message was written; null while the alert waits for others, is muted, or has no channel. */
  toldAt: number | null;
  mutedUntil: number | null;
}

/** A message before it is written in the form of its channel. Stored as JSON in the outbox. */
export interface AlertMessage {
  kind: "firing" | "resolved" | "test";
  severity: Severity;
  rule: string;
  /** The same for all messages of a rule; empty in a test message. Older messages lack it. */
  ruleId?: string;
  /** How many announced alerts of the rule still fire after this message. */
  remaining?: number;
  /** One sentence that says what happened. */
  title: string;
  /** Since when, and which nodes or runs. */
  lines: string[];
  /** Advice on what to do. */
  todo: string;
  /** Page of the hub; empty when a node without a hub wrote the message. */
  link: string;
  at: number;
  count: number;
  /** The first alerts of the message. */
  alerts: { id: string; node: string | null; run: string | null; text: string; since: number }[];
}

export interface TestAnswer {
  ok: boolean;
  kind: ChannelKind;
  fault: FaultData | null;
  tookMs: number;
}
