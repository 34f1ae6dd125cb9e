"use client";
import type { InfiniteQueryObserverResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { MoreRow } from "../../_ui/tables/more-row.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { FaultNote } from "../faults/fault-note.tsx";
import { faultOf } from "../faults/fault-of.ts";

/** What a list needs to know of the question that fills it, a page at a time. */
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
  /** Null until the first page has come. */
  rows: readonly One[] | null;
  /** What a reader is told while it comes, and in how many rows. */
  loading: { label: string; rows: number };
  /** Instead of rows, once all pages have come and there are none. */
  empty: ReactNode;
  /** The button that asks for the next page. */
  more?: "Earlier" | "More";
  /** Quiet words beside that button; without a next page they stand alone. */
  note?: ReactNode;
  children: (rows: readonly One[]) => ReactNode;
}

/**
 * A list from the hub in the state it is in: on its way, refused, empty, or there, with the way to its next page. What has
 * come stays when the next page fails; the failure is said below it.
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
