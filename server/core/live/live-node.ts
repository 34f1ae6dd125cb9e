import type { NodeMessage } from "#protocol/wire/commands.ts";
import type { NodeFacts } from "#protocol/wire/hello.ts";
import { FLEET } from "#protocol/base/names.ts";
import { isExpected, nodeStateOf, type Presence } from "#protocol/fleet/node-status.ts";
import type { ProgressReport } from "#protocol/wire/reports.ts";
import { riskOf, type Risk } from "#protocol/wire/risk.ts";
import { createSignal, type Signal } from "./signal.ts";
import type { NodeParts } from "#protocol/fleet/node-changes.ts";
import type { NodeRow, NodeState } from "#protocol/wire/views.ts";

/** One open stream to a node: what waits to be sent, and the bell that says so. */
export interface Mailbox {
  messages: NodeMessage[];
  signal: Signal;
  /** SHA-256 of the credential it was opened with; null where there is none (tests). */
  credentialHash: string | null;
  /** That credential was replaced: the stream ends. */
  isOver: boolean;
}

/** Mean of what was added since it was last taken. */
export interface Meter {
  sum: number;
  count: number;
}

/** The present of a node, in memory only, but for `report` and the times, which are written down now and then. */
export interface LiveNode {
  readonly id: string;
  readonly enrolledAt: number;
  /** The join token it came with, when that is known. */
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
  /** When it said goodbye. */
  leftAt: number | null;
  lastSeenAt: number | null;
  /** Silence counts from here: its last word, or the start of a hub that was away itself. */
  quietSince: number;
  presence: Presence;
  /** What it was told to keep to when it was heard last, or a slower pace that it was told since. */
  reportEveryMs: number;
  report: ProgressReport | null;
  /** By the hub's clock. */
  reportedAt: number;
  /** Since when it has its credential, and whether a person wants that replaced. */
  credentialSince: number;
  isRotationAsked: boolean;
  mailboxes: Set<Mailbox>;
  /** Upload rates of the last five minutes, one per 10 s, oldest first. */
  history: number[];
  up: Meter;
  /** `Busy`: only of reports in which something moved that way. */
  minute: { up: Meter; down: Meter; upBusy: Meter; downBusy: Meter };
  /** Until then somebody reads what its program says. */
  readUntil: number;
  /** What its downloads really reached, smoothed; null before the first. */
  downBytesPerSecond: number | null;
  /** Raised whenever something people see of it changed. */
  revision: number;
  /** What those who watch were told of it last; null before the first. */
  shown: ShownRow | null;
  /** Has something to write down. */
  dirty: boolean;
  /** When it was last written down. */
  writtenAt: number;
}

/**
 * What all who watch see of a node: its row, made once for each of its revisions, and since which revision each part of the
 * row is what it is. A stream tells only what is newer than it has told: of a node that reports, a tenth of its row.
 */
export interface ShownRow {
  row: NodeRow;
  parts: NodeParts;
  revision: number;
  since: ReadonlyMap<keyof NodeParts, number>;
}

const newMeter = (): Meter => ({ sum: 0, count: 0 });

/** Until the hub knows better: the pace of a fleet that nobody watches. */
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

/** The graphics card by the node's own facts, or by the label its owner gave it. */
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
    mailbox.signal.ring();
  }
}

export const stateOf = (node: LiveNode): NodeState => nodeStateOf(node);

/** The moment a node's risk is computed for, by the node's own clock: it stops with the node's last report. */
export function riskTimeOf(node: LiveNode, now: number): number {
  if (node.report === null) return now;
  return isExpected(stateOf(node)) ? node.report.at + Math.max(0, now - node.reportedAt) : node.report.at;
}

/** Risk per run of a node, in the order of its report. */
export const risksOf = (node: LiveNode, now: number): Risk[] =>
  (node.report?.runs ?? []).map((run) => riskOf(run, riskTimeOf(node, now)));

export function addTo(meter: Meter, value: number): void {
  meter.sum += value;
  meter.count++;
}

/** The mean since the last call; 0 when nothing came. */
export function take(meter: Meter): number {
  const mean = meter.count === 0 ? 0 : meter.sum / meter.count;
  meter.sum = 0;
  meter.count = 0;
  return mean;
}
