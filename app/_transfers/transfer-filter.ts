import { transferPhaseOf, type TransferPhase } from "#protocol/fleet/node-status.ts";
import type { TransferDirection } from "#protocol/wire/transfer.ts";
import { TRANSFER_DIRECTIONS, TRANSFER_STATES } from "#protocol/wire/transfer-kinds.ts";
import type { TransferRow, NodeState } from "#protocol/wire/views.ts";
import { holdsWords, spanOfDays } from "../_hub/address/word-filter.ts";

/** State filters of the transfer list; `id` is the value in the address. */
export const TRANSFER_FILTERS = [
  { id: "now", label: "Now", states: ["running"] },
  { id: "waiting", label: "Waiting", states: ["waiting", "paused"] },
  { id: "done", label: "Done", states: ["done"] },
  { id: "failed", label: "Failed", states: ["failed"] },
  { id: "stopped", label: "Stopped", states: ["cancelled", "superseded"] },
  { id: "all", label: "All", states: TRANSFER_STATES },
] as const satisfies readonly { id: string; label: string; states: readonly TransferRow["state"][] }[];
export type TransferFilter = (typeof TRANSFER_FILTERS)[number];

export const transferFilterOf = (word: string): TransferFilter =>
  TRANSFER_FILTERS.find((filter) => filter.id === word) ?? TRANSFER_FILTERS[0];

/** Further filters; empty fields match everything. Days refer to the start, in the zone chosen in this browser. */
export interface TransferSearch {
  node: string;
  run: string;
  direction: TransferDirection | "";
  fromDay: string;
  toDay: string;
}

export const NO_SEARCH: TransferSearch = { node: "", run: "", direction: "", fromDay: "", toDay: "" };

export const isSearching = (search: TransferSearch): boolean => Object.values(search).some((word) => word !== "");

/** Returns the filters as input for the hub. */
export const askedBy = (search: TransferSearch) => ({
  nodeWords: search.node,
  runWords: search.run,
  directions: search.direction === "" ? [] : [search.direction],
  ...spanOfDays(search),
});

/** Returns the state of a node; null when unknown. */
export type StateOfNode = (nodeId: string) => NodeState | null;

/** A running transfer of a node that does not report counts as waiting. */
const WAITING: ReadonlySet<TransferPhase> = new Set(["waiting", "paused", "unheard"]);

function isIn(filter: TransferFilter, row: TransferRow, stateOfNode: StateOfNode): boolean {
  const phase = transferPhaseOf(row.state, stateOfNode(row.nodeId));
  if (filter.id === "now") return phase === "moving";
  if (filter.id === "waiting") return WAITING.has(phase);
  return (filter.states as readonly TransferRow["state"][]).includes(row.state);
}

/** Returns whether a live row matches the filters, by the hub's own rules. */
export function fitsSearch(row: TransferRow, search: TransferSearch): boolean {
  const { from, to } = spanOfDays(search);
  return (
    holdsWords(row.nodeName, search.node) &&
    holdsWords(row.run, search.run) &&
    (search.direction === "" || row.direction === search.direction) &&
    (from === null || row.createdAt >= from) &&
    (to === null || row.createdAt < to)
  );
}

interface Parts {
  filter: TransferFilter;
  stored: readonly TransferRow[];
  /** Live rows that match the filters. */
  live: readonly TransferRow[];
  /** Rows that stay in any case, because a person just acted on them. */
  kept: ReadonlySet<string>;
  stateOfNode: StateOfNode;
}

const beganAt = (row: TransferRow): number => row.startedAt ?? row.createdAt;

/**
 * Merges stored and live rows; live ones win. Running transfers keep the order of their start, so that none moves while
 * watched. Ended ones are newest first.
 */
export function transfersShown({ filter, stored, live, kept, stateOfNode }: Parts): TransferRow[] {
  const rows = new Map(stored.map((row) => [row.id, row]));
  for (const row of live) rows.set(row.id, row);
  const shown = [...rows.values()].filter((row) => isIn(filter, row, stateOfNode) || kept.has(row.id));
  switch (filter.id) {
    case "now":
    case "waiting":
      return shown.sort((a, b) => beganAt(a) - beganAt(b) || a.id.localeCompare(b.id));
    case "all":
      return shown.sort((a, b) => b.createdAt - a.createdAt || b.id.localeCompare(a.id));
    case "done":
    case "failed":
    case "stopped":
      return shown.sort((a, b) => (b.endedAt ?? b.createdAt) - (a.endedAt ?? a.createdAt));
  }
}

export const countShown = (
  filter: TransferFilter,
  live: readonly TransferRow[],
  stateOfNode: StateOfNode,
): number | undefined =>
  filter.id === "now" || filter.id === "waiting"
    ? live.filter((row) => isIn(filter, row, stateOfNode)).length
    : undefined;

/** Text shown when the listing has completed without rows. */
export const NOTHING: Record<TransferFilter["id"], string> = {
  now: "Nothing moves right now.",
  waiting: "Nothing waits.",
  done: "No transfer has been completed yet.",
  failed: "No transfer has failed.",
  stopped: "No transfer was cancelled or replaced.",
  all: "Nothing has moved yet.",
};

/** Parses a direction of the address; empty, which means all, for anything else. */
export const directionOf = (word: string | null): TransferDirection | "" =>
  TRANSFER_DIRECTIONS.find((direction) => direction === word) ?? "";
