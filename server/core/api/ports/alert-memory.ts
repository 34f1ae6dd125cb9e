import type { AlertKind, RuleDraft } from "#protocol/alerts/alerts.ts";

/**
 * State of the alert evaluation between two runs. Rules and firing alerts are in the database as well and are read again at
 * start. Pending alerts are in memory only and start over.
 */
export interface AlertMemory {
  /** Rules by id, without removed ones. */
  rules: Map<string, LiveRule>;
  /** Firing alerts, by rule and subject. */
  open: Map<string, OpenAlert>;
  /** Conditions that are true, but not for long enough to fire: since when (epoch ms). */
  pending: Map<string, number>;
  /** Firing alerts whose condition is no longer true: since when (epoch ms). */
  clearing: Map<string, number>;
  /** Ended alerts whose end still has to be sent to those who were told of the alert. */
  ended: OpenAlert[];
  /** A fingerprint of each node's transfer progress, and since when (epoch ms) it is unchanged. */
  progress: Map<string, { mark: string; since: number }>;
  /** Deliveries in progress, by channel. */
  sending: Map<string, Promise<void>>;
}

export interface LiveRule extends RuleDraft {
  id: string;
  version: number;
  mutedUntil: number | null;
  muteReason: string;
  mutedBy: string;
  toldAt: number | null;
}

export interface OpenAlert {
  id: string;
  key: string;
  ruleId: string;
  kind: AlertKind;
  nodeId: string | null;
  nodeName: string | null;
  run: string | null;
  text: string;
  since: number;
  firedAt: number;
  isTold: boolean;
  isAcknowledged: boolean;
}
