"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { EventRow } from "#protocol/wire/views.ts";
import { hub } from "../queries/client.ts";
import type { PagedQuery } from "../queries/listed.tsx";
import { useLiveEvents } from "../live/live.tsx";

const PAGE = 12;
const newest = (): number | null => null;

interface Events {
  /** Stored events and those that arrived since, newest first. Null until the first page has arrived. */
  rows: EventRow[] | null;
  query: PagedQuery;
}

/** Returns the history of the fleet, one node or one run. */
export function useEvents(nodeId: string | null, run: string | null): Events {
  const live = useLiveEvents();
  const stored = useInfiniteQuery({
    queryKey: ["events", nodeId, run],
    queryFn: ({ pageParam }) => hub.events.list.query({ nodeId, run, cursor: pageParam, limit: PAGE }),
    initialPageParam: newest(),
    getNextPageParam: (page) => page.nextCursor,
  });
  const [further, setFurther] = useState(0);
  if (stored.data === undefined) return { rows: null, query: stored };
  const pages = stored.data.pages.flatMap((page) => page.rows);
  const oldest = pages.at(-1)?.id ?? 0;
  const fresh = (live ?? []).filter(
    (event) =>
      event.id >= oldest && (nodeId === null || event.nodeId === nodeId) && (run === null || event.run === run),
  );
  const byId = new Map([...pages, ...fresh].map((event) => [event.id, event]));
  const rows = [...byId.values()].sort((a, b) => b.id - a.id);
  // Events that arrive while the page is open do not lengthen the list: it keeps the requested length with the newest events.
  const asked = PAGE * stored.data.pages.length + further;
  if (rows.length <= asked) return { rows, query: stored };
  const showMore = async () => {
    setFurther(further + PAGE);
    return stored;
  };
  return { rows: rows.slice(0, asked), query: { ...stored, hasNextPage: true, fetchNextPage: showMore } };
}
