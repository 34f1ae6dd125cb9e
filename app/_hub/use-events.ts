"use client";
import { useInfiniteQuery, type UseInfiniteQueryResult } from "@tanstack/react-query";
import type { EventRow } from "#protocol/views.ts";
import { hub } from "./client.ts";
import { useLiveEvents } from "./live.tsx";

const PAGE = 12;
const newest = (): number | null => null;

interface Events {
  /** Newest first: what is stored, and what has happened since. Null until the first page has come. */
  rows: EventRow[] | null;
  query: Pick<
    UseInfiniteQueryResult,
    "isError" | "error" | "refetch" | "hasNextPage" | "isFetchingNextPage" | "fetchNextPage"
  >;
}

/** History of the fleet, one node or one run. */
export function useEvents(nodeId: string | null, run: string | null): Events {
  const live = useLiveEvents();
  const stored = useInfiniteQuery({
    queryKey: ["events", nodeId, run],
    queryFn: ({ pageParam }) => hub.events.list.query({ nodeId, run, cursor: pageParam, limit: PAGE }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
  });
  if (stored.data === undefined) return { rows: null, query: stored };
  const pages = stored.data.pages.flatMap((page) => page.rows);
  const oldest = pages.at(-1)?.id ?? 0;
  const fresh = (live ?? []).filter(
    (event) =>
      event.id >= oldest && (nodeId === null || event.nodeId === nodeId) && (run === null || event.run === run),
  );
  const byId = new Map([...pages, ...fresh].map((event) => [event.id, event]));
  return { rows: [...byId.values()].sort((a, b) => b.id - a.id), query: stored };
}
