"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { CheckpointState } from "#protocol/checkpoint/checkpoint.ts";
import type { CheckpointRow, RunView } from "#protocol/wire/views.ts";
import { hub } from "../_hub/queries/client.ts";
import type { StepRange } from "./step-range.ts";

interface CheckpointPages {
  rows: readonly CheckpointRow[];
  /** Number of checkpoints in these states, loaded or not. */
  count: number;
  isLoading: boolean;
  /** True until the first page of older checkpoints has arrived. */
  isAsked: boolean;
  /** Loads the next page; null when all are loaded. */
  more: (() => void) | null;
}

/** Filter of a run's checkpoints: by state and, with `kept`, pinned or tagged ones. */
export interface CheckpointFilter {
  states: readonly CheckpointState[];
  kept: "pinned" | "tagged" | null;
  /** Null for all steps. */
  steps?: StepRange | null;
}

const first = (): string | null => null;

/** Returns the checkpoints that match a filter, newest first. The newest come with the run, older ones page by page. */
export function useCheckpointPages(run: RunView, { states, kept, steps = null }: CheckpointFilter): CheckpointPages {
  const isKept = ({ keeping }: CheckpointRow) =>
    kept === null || (kept === "pinned" ? keeping.isPinned : keeping.tags.length > 0);
  const isIn = ({ step }: CheckpointRow) => steps === null || (step >= steps.from && step <= steps.to);
  const fits = (row: CheckpointRow) => states.includes(row.state) && isKept(row) && isIn(row);
  const count = countCheckpoints(run, { states, kept });
  const newest = run.checkpoints.filter(fits);
  // The hub has no count for a range of steps.
  const isWhole = steps === null && newest.length >= count;
  const older = useInfiniteQuery({
    queryKey: ["runs", run.name, "checkpoints", states, kept, steps],
    queryFn: ({ pageParam }) =>
      hub.checkpoints.list.query({ run: run.name, states: [...states], kept, steps, cursor: pageParam, limit: 100 }),
    initialPageParam: first(),
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
    enabled: !isWhole,
  });
  const pages = isWhole ? [] : (older.data?.pages.flatMap((page) => page.rows) ?? []);
  // The run's own rows are refetched more often, so they win.
  const byId = new Map([...newest, ...pages.filter(fits)].map((row) => [row.id, row]));
  for (const row of newest) byId.set(row.id, row);
  const rows = [...byId.values()].sort((a, b) => b.writerEpoch - a.writerEpoch || b.step - a.step);
  return {
    rows,
    count: steps === null ? Math.max(count, rows.length) : rows.length,
    isAsked: !isWhole && older.data === undefined,
    isLoading: older.isFetchingNextPage,
    more: !isWhole && older.hasNextPage ? () => void older.fetchNextPage() : null,
  };
}

/** Returns the number of checkpoints that match a filter, loaded or not. */
export const countCheckpoints = (
  { byState, kept: byHand }: Pick<RunView, "byState" | "kept">,
  { states, kept }: CheckpointFilter,
): number => (kept === null ? states.reduce((sum, state) => sum + byState[state], 0) : byHand[kept]);
