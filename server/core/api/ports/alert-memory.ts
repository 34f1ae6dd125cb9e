import type { AlertKind, RuleDraft } from "#protocol/alerts/alerts.ts";

/**
 * What the evaluation of alerts remembers between two looks. Rules and what fires stand in the database as well and are
 * read again at a start; what is pending is in memory only, and begins anew.
 */
export interface AlertMemory {
  /** By id, without those that were removed. */
  rules: Map<string, LiveRule>;
  /** What fires, by rule and subject. */
  open: Map<string, OpenAlert>;
  /** Found true, not long enough: since when. */
  pending: Map<string, number>;
  /** Fires, and is not found true any more: since when. */
  clearing: Map<string, number>;
  /** Over, and somebody who was told that it fires was not told that. */
  ended: OpenAlert[];
  /** How far the transfers of each node were, and since when they are there. */
  progress: Map<string, { mark: string; since: number }>;
  /** Channels that hand over what waits for them just now. */
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
