import { isEnded } from "../transfers/transfer-words.ts";
import type { EventRow, FleetView, LiveMessage, NodeRow, TransferRow } from "#protocol/wire/views.ts";

/**
 * Live state of the page. Rows that did not change keep their identity, so that only changed rows render again. A whole list
 * replaces the previous one. A transfer that ended while the page is open is kept, so that its watchers see its end.
 */
export interface LiveState {
  fleet: FleetView | null;
  /** Null until the first whole list has arrived, which differs from an empty list. */
  nodes: ReadonlyMap<string, NodeRow> | null;
  transfers: ReadonlyMap<string, TransferRow> | null;
  /** Newest first. */
  events: readonly EventRow[] | null;
}

export const EMPTY_LIVE: LiveState = { fleet: null, nodes: null, transfers: null, events: null };

const EVENTS_KEPT = 200;
const ENDED_KEPT = 100;

/** All messages except changes of single rows, which the store applies in place. */
export type ListMessage = Exclude<LiveMessage, { type: "node-changes" }>;

export function mergeLive(state: LiveState, message: ListMessage): LiveState {
  switch (message.type) {
    case "fleet":
      return { ...state, fleet: message.fleet };
    case "nodes":
      return { ...state, nodes: mergeRows(state.nodes, message.nodes, true) };
    case "transfers":
      return { ...state, transfers: mergeTransfers(state.transfers, message.transfers, message.whole) };
    case "events":
      return { ...state, events: mergeEvents(state.events ?? [], message.events) };
    case "stale":
    case "beat":
      return state;
  }
}

function mergeRows<Row extends { id: string }>(
  old: ReadonlyMap<string, Row> | null,
  rows: readonly Row[],
  whole: boolean,
): ReadonlyMap<string, Row> {
  const next = new Map<string, Row>(whole ? [] : (old ?? []));
  for (const row of rows) {
    const before = old?.get(row.id);
    next.set(row.id, before !== undefined && sameRow(before, row) ? before : row);
  }
  return next;
}

function mergeTransfers(
  old: ReadonlyMap<string, TransferRow> | null,
  rows: readonly TransferRow[],
  whole: boolean,
): ReadonlyMap<string, TransferRow> {
  const merged = new Map(mergeRows(old, rows, whole));
  if (whole)
    for (const row of old?.values() ?? []) if (isEnded(row.state) && !merged.has(row.id)) merged.set(row.id, row);
  const ended = [...merged.values()].filter((row) => isEnded(row.state));
  ended.sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0));
  for (const row of ended.slice(0, Math.max(0, ended.length - ENDED_KEPT))) merged.delete(row.id);
  return merged;
}

function mergeEvents(old: readonly EventRow[], rows: readonly EventRow[]): readonly EventRow[] {
  const byId = new Map([...old, ...rows].map((row) => [row.id, row]));
  return [...byId.values()].sort((a, b) => b.id - a.id).slice(0, EVENTS_KEPT);
}

/** Compares until the first difference. Serializing thousands of changed rows would cost more than drawing them. */
function sameRow(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [left, right] = [Object.entries(a), Object.entries(b)];
  return (
    left.length === right.length &&
    left.every(([name, value], at) => right[at]?.[0] === name && sameRow(value, right[at][1]))
  );
}

/** Returns the messages that bring an empty page to this state. The leading tab sends them to a tab that has just opened. */
export function messagesOf(state: LiveState): ListMessage[] {
  const messages: ListMessage[] = [];
  if (state.fleet !== null) messages.push({ type: "fleet", fleet: state.fleet });
  if (state.nodes !== null) messages.push({ type: "nodes", nodes: [...state.nodes.values()] });
  if (state.transfers !== null)
    messages.push({ type: "transfers", whole: true, transfers: [...state.transfers.values()] });
  if (state.events !== null) messages.push({ type: "events", events: [...state.events] });
  return messages;
}
