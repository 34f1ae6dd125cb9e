import { transferPhaseOf, type TransferPhase } from "#protocol/fleet/node-status.ts";
import type { TransferDirection } from "#protocol/wire/transfer.ts";
import { TRANSFER_DIRECTIONS, TRANSFER_STATES } from "#protocol/wire/transfer-kinds.ts";
import type { TransferRow, NodeState } from "#protocol/wire/views.ts";
import { holdsWords, spanOfDays } from "../_hub/address/word-filter.ts";

/** The states of a transfer list, as words in the address. */
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

/** What else narrows it; empty means all. Days are of this browser's calendar and mean when it began. */
export interface TransferSearch {
  node: string;
  run: string;
  direction: TransferDirection | "";
  fromDay: string;
  toDay: string;
}

export const NO_SEARCH: TransferSearch = { node: "", run: "", direction: "", fromDay: "", toDay: "" };

export const isSearching = (search: TransferSearch): boolean => Object.values(search).some((word) => word !== "");

/** The search as the hub takes it. */
export const askedBy = (search: TransferSearch) => ({
  nodeWords: search.node,
  runWords: search.run,
  directions: search.direction === "" ? [] : [search.direction],
  ...spanOfDays(search),
});

/** Returns the state of a node; null where it is not known. */
export type StateOfNode = (nodeId: string) => NodeState | null;

/** A transfer that was running by the last report of a node that is not heard counts as waiting. */
const WAITING: ReadonlySet<TransferPhase> = new Set(["waiting", "paused", "unheard"]);

function isIn(filter: TransferFilter, row: TransferRow, stateOfNode: StateOfNode): boolean {
  const phase = transferPhaseOf(row.state, stateOfNode(row.nodeId));
  if (filter.id === "now") return phase === "moving";
  if (filter.id === "waiting") return WAITING.has(phase);
  return (filter.states as readonly TransferRow["state"][]).includes(row.state);
}

/** Whether a row that the hub did not choose belongs to what is asked for: as the hub would decide. */
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
  /** Those of them that fit the search. */
  live: readonly TransferRow[];
  /** Stay in the list whatever becomes of them: what a person has just asked something of. */
  kept: ReadonlySet<string>;
  stateOfNode: StateOfNode;
}

const beganAt = (row: TransferRow): number => row.startedAt ?? row.createdAt;

/**
 * What a filter shows: stored rows and live ones, each once, the live word winning. Running ones keep the order they
 * started in, so that none moves while one watches; ended ones are newest first.
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

/** Said when the listing completed and the filter holds nothing. */
export const NOTHING: Record<TransferFilter["id"], string> = {
  now: "Nothing moves right now.",
  waiting: "Nothing waits.",
  done: "No transfer has been completed yet.",
  failed: "No transfer has failed.",
  stopped: "No transfer was cancelled or replaced.",
  all: "Nothing has moved yet.",
};

/** A word of the address as a direction; empty for what is none: all of them. */
export const directionOf = (word: string | null): TransferDirection | "" =>
  TRANSFER_DIRECTIONS.find((direction) => direction === word) ?? "";
