"use client";
import type { InfiniteQueryObserverResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { MoreRow } from "../../_ui/tables/more-row.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { FaultNote } from "../faults/fault-note.tsx";
import { faultOf } from "../faults/fault-of.ts";

/** The parts of a paged query that a list needs. */
export type PagedQuery = Pick<
  InfiniteQueryObserverResult,
  | "data"
  | "isError"
  | "error"
  | "refetch"
  | "hasNextPage"
  | "isFetchingNextPage"
  | "isFetchNextPageError"
  | "fetchNextPage"
>;

interface ListedProps<One> {
  query: PagedQuery;
  /** Null until the first page has arrived. */
  rows: readonly One[] | null;
  /** Accessible name and number of the placeholder rows. */
  loading: { label: string; rows: number };
  /** Shown instead of rows once all pages have arrived and hold none. */
  empty: ReactNode;
  /** Text of the button that loads the next page. */
  more?: "Earlier" | "More";
  /** Secondary text beside that button; shown without a next page too. */
  note?: ReactNode;
  children: (rows: readonly One[]) => ReactNode;
}

/**
 * Shows a list from the hub in its state: loading, failed, empty or filled, with a button for the next page. When the next
 * page fails, the rows stay and the fault is shown below them.
 */
export function Listed<One>({ query, rows, loading, empty, more = "Earlier", note, children }: ListedProps<One>) {
  const isOwed = query.isError && (rows === null || query.data === undefined || query.isFetchNextPageError);
  const fault = isOwed && (
    <div className="p-3">
      <FaultNote
        fault={faultOf(query.error)}
        onRetry={() => void (query.isFetchNextPageError ? query.fetchNextPage() : query.refetch())}
      />
    </div>
  );
  if (rows === null) return fault === false ? <SkeletonRows {...loading} /> : fault;
  return (
    <>
      {rows.length === 0 && !query.hasNextPage ? empty : children(rows)}
      {fault}
      <MoreRow
        word={more}
        onMore={query.hasNextPage ? () => void query.fetchNextPage() : null}
        state={query.isFetchingNextPage ? "loading" : "idle"}
        note={note}
      />
    </>
  );
}
