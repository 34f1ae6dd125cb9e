import type { NodeMessage } from "#protocol/wire/commands.ts";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import { FLEET } from "#protocol/base/names.ts";
import { isExpected, nodeStateOf, type Presence } from "#protocol/fleet/node-status.ts";
import type { ProgressReport } from "#protocol/wire/reports.ts";
import { riskOf, type Risk } from "#protocol/wire/risk.ts";
import { createSignal, type Signal } from "./signal.ts";
import type { NodeParts } from "#protocol/fleet/node-changes.ts";
import type { NodeRow, NodeState } from "#protocol/wire/views.ts";

/** An open stream to a node: its queued messages, and the signal that announces them. */
export interface Mailbox {
  messages: NodeMessage[];
  signal: Signal;
  /** SHA-256 of the credential that opened the stream; null without one (tests). */
  credentialHash: string | null;
  /** The credential was replaced, so the stream ends. */
  isOver: boolean;
}

/** Accumulates values; `take` returns their mean and resets it. */
export interface Meter {
  sum: number;
  count: number;
}

/** The live state of a node, in memory only; `report` and the times are also stored from time to time. */
export interface LiveNode {
  readonly id: string;
  readonly enrolledAt: number;
  /** The join token it enrolled with, if known. */
  readonly tokenId: string | null;
  readonly fleet: string;
  readonly identity: string | null;
  /** Patterns of runs; null: those it named, its own, and new ones. */
  mayWrite: string | null;
  name: string;
  profileId: string;
  profileName: string;
  facts: NodeFacts;
  revokedAt: number | null;
  /** When it stopped on purpose, epoch ms. */
  leftAt: number | null;
  lastSeenAt: number | null;
  /** Silence is measured from here: its last sign of life, or the start of the hub if that is later. */
  quietSince: number;
  presence: Presence;
  /** The report interval in force when it was last heard, or a longer one that it was sent since. */
  reportEveryMs: number;
  report: ProgressReport | null;
  /** Time of the last report, by the hub's clock. */
  reportedAt: number;
  /** When it got its credential, and whether a person asked for a new one. */
  credentialSince: number;
  isRotationAsked: boolean;
  mailboxes: Set<Mailbox>;
  /** Upload rates of the last five minutes, one per 10 s, oldest first. */
  history: number[];
  up: Meter;
  /** `Busy`: only reports during which bytes moved in that direction. */
  minute: { up: Meter; down: Meter; upBusy: Meter; downBusy: Meter };
  /** Until then a person reads its program's log, epoch ms. */
  readUntil: number;
  /** Rate that its downloads reached, smoothed; null before the first. */
  downBytesPerSecond: number | null;
  /** Incremented at every change that watchers can see. */
  revision: number;
  /** The row as last sent to watchers; null before the first. */
  shown: ShownRow | null;
  /** Has changes that are not stored yet. */
  dirty: boolean;
  /** When it was last stored, epoch ms. */
  writtenAt: number;
}

/**
 * A node's row for all watchers, computed once per revision, with the revision at which each part last changed. A stream
 * sends only parts newer than its last message: about a tenth of the row of a node that reports.
 */
export interface ShownRow {
  row: NodeRow;
  parts: NodeParts;
  revision: number;
  since: ReadonlyMap<keyof NodeParts, number>;
}

const newMeter = (): Meter => ({ sum: 0, count: 0 });

/** Initial interval: that of a fleet that nobody watches. */
const REPORT_EVERY_MS = 10_000;
export const HISTORY_POINTS = 30;

export type NewLiveNode = Pick<LiveNode, "id" | "enrolledAt" | "name" | "profileId" | "profileName" | "facts"> &
  Partial<
    Pick<
      LiveNode,
      | "tokenId"
      | "fleet"
      | "identity"
      | "mayWrite"
      | "revokedAt"
      | "leftAt"
      | "lastSeenAt"
      | "report"
      | "reportedAt"
      | "presence"
      | "credentialSince"
      | "isRotationAsked"
    >
  >;

export function createLiveNode(row: NewLiveNode, now: number): LiveNode {
  return {
    tokenId: null,
    fleet: FLEET,
    identity: null,
    mayWrite: null,
    revokedAt: null,
    leftAt: null,
    lastSeenAt: null,
    presence: "heard",
    reportEveryMs: REPORT_EVERY_MS,
    report: null,
    reportedAt: 0,
    credentialSince: row.enrolledAt,
    isRotationAsked: false,
    ...row,
    quietSince: now,
    mailboxes: new Set(),
    history: [],
    up: { sum: 0, count: 0 },
    minute: { up: newMeter(), down: newMeter(), upBusy: newMeter(), downBusy: newMeter() },
    readUntil: 0,
    downBytesPerSecond: null,
    revision: 0,
    shown: null,
    dirty: false,
    writtenAt: now,
  };
}

/** Returns the GPU from the node's own facts, or from the label its owner gave it. */
export const gpuOf = (facts: NodeFacts): string | null => facts.gpu ?? facts.labels["gpu"] ?? null;

export const createMailbox = (credentialHash: string | null): Mailbox => ({
  messages: [],
  signal: createSignal(),
  credentialHash,
  isOver: false,
});

export function post(node: LiveNode, message: NodeMessage): void {
  for (const mailbox of node.mailboxes) {
    mailbox.messages.push(message);
    mailbox.signal.notify();
  }
}

export const stateOf = (node: LiveNode): NodeState => nodeStateOf(node);

/** Returns the time, by the node's own clock, for which its risk is computed; it stops at the last report of a lost node. */
export function riskTimeOf(node: LiveNode, now: number): number {
  if (node.report === null) return now;
  return isExpected(stateOf(node)) ? node.report.at + Math.max(0, now - node.reportedAt) : node.report.at;
}

/** Returns the risk of each run of a node, in the order of its report. */
export const risksOf = (node: LiveNode, now: number): Risk[] =>
  (node.report?.runs ?? []).map((run) => riskOf(run, riskTimeOf(node, now)));

export function addTo(meter: Meter, value: number): void {
  meter.sum += value;
  meter.count++;
}

/** Returns the mean since the last call and resets the meter; 0 without values. */
export function take(meter: Meter): number {
  const mean = meter.count === 0 ? 0 : meter.sum / meter.count;
  meter.sum = 0;
  meter.count = 0;
  return mean;
}
