"use client";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { hub } from "../_hub/queries/client.ts";
import { useLiveEvents } from "../_hub/live/live.tsx";
import { askedBy, fitsFilter, type EventFilter } from "./event-filter.ts";

const PAGE = 100;
const newest = (): number | null => null;

/** Returns the events that match a filter, stored and live, newest first. */
export function useFoundEvents(filter: EventFilter) {
  const live = useLiveEvents();
  const stored = useInfiniteQuery({
    queryKey: ["events", "found", filter],
    queryFn: ({ pageParam }) =>
      hub.events.list.query({ nodeId: null, run: null, ...askedBy(filter), cursor: pageParam, limit: PAGE }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
  });
  if (stored.data === undefined) return { rows: null, query: stored };
  const pages = stored.data.pages.flatMap((page) => page.rows);
  const oldest = pages.at(-1)?.id ?? 0;
  const fresh = (live ?? []).filter((event) => event.id >= oldest && fitsFilter(event, filter));
  const byId = new Map([...pages, ...fresh].map((event) => [event.id, event]));
  return { rows: [...byId.values()].sort((a, b) => b.id - a.id), query: stored };
}
