import type { TransferRow } from "#protocol/views.ts";

/** The filters of a transfer list, as words in the address. */
export const TRANSFER_FILTERS = [
  { id: "now", label: "Now", states: ["running"] },
  { id: "waiting", label: "Waiting", states: ["waiting", "paused"] },
  { id: "done", label: "Done", states: ["done"] },
  { id: "failed", label: "Failed", states: ["failed"] },
  { id: "stopped", label: "Stopped", states: ["cancelled", "superseded"] },
] as const satisfies readonly { id: string; label: string; states: readonly TransferRow["state"][] }[];
export type TransferFilter = (typeof TRANSFER_FILTERS)[number];

export const transferFilterOf = (word: string): TransferFilter =>
  TRANSFER_FILTERS.find((filter) => filter.id === word) ?? TRANSFER_FILTERS[0];

const holds = (filter: TransferFilter, row: TransferRow): boolean =>
  (filter.states as readonly TransferRow["state"][]).includes(row.state);

interface Parts {
  filter: TransferFilter;
  stored: readonly TransferRow[];
  live: readonly TransferRow[];
}

/**
 * What a filter shows: stored rows and live ones, each once, the live word winning. Running ones keep the order they
 * started in, so that none moves while one watches; ended ones are newest first.
 */
export function transfersShown({ filter, stored, live }: Parts): TransferRow[] {
  const rows = new Map(stored.map((row) => [row.id, row]));
  for (const row of live) rows.set(row.id, row);
  const ended = filter.id === "done" || filter.id === "failed" || filter.id === "stopped";
  return [...rows.values()]
    .filter((row) => holds(filter, row))
    .sort((a, b) =>
      ended
        ? (b.endedAt ?? b.createdAt) - (a.endedAt ?? a.createdAt)
        : (a.startedAt ?? a.createdAt) - (b.startedAt ?? b.createdAt) || a.id.localeCompare(b.id),
    );
}

export const countShown = (filter: TransferFilter, live: readonly TransferRow[]): number | undefined =>
  filter.id === "now" || filter.id === "waiting" ? live.filter((row) => holds(filter, row)).length : undefined;

/** Said when the listing completed and the filter holds nothing. */
export const NOTHING: Record<TransferFilter["id"], string> = {
  now: "Nothing moves right now.",
  waiting: "Nothing waits.",
  done: "No transfer has been completed yet.",
  failed: "No transfer has failed.",
  stopped: "No transfer was cancelled or replaced.",
};
