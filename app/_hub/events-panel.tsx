"use client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "../_ui/button.tsx";
import { Panel } from "../_ui/panel.tsx";
import { SkeletonRows } from "../_ui/skeleton.tsx";
import { hub } from "./client.ts";
import { EventLine } from "./event-line.tsx";
import { FaultNote } from "./fault-note.tsx";
import { faultOf } from "./fault-of.ts";
import { useLiveEvents } from "./live.tsx";

const PAGE = 12;

/** History of the fleet, one node or one run: what the hub has stored, and what has happened since. */
export function EventsPanel({ nodeId, run }: { nodeId: string | null; run: string | null }) {
  const live = useLiveEvents();
  const stored = useInfiniteQuery({
    queryKey: ["events", nodeId, run],
    queryFn: ({ pageParam }) => hub.events.list.query({ nodeId, run, cursor: pageParam, limit: PAGE }),
    initialPageParam: initialCursor(),
    getNextPageParam: (page) => page.nextCursor,
  });
  const fresh = (live ?? []).filter(
    (event) => (nodeId === null || event.nodeId === nodeId) && (run === null || event.run === run),
  );
  const pages = stored.data?.pages.flatMap((page) => page.rows) ?? [];
  const oldest = pages.at(-1)?.id ?? 0;
  const rows = [...new Map([...pages, ...fresh.filter((event) => event.id >= oldest)].map((event) => [event.id, event])).values()].sort(
    (a, b) => b.id - a.id,
  );
  return (
    <Panel title="Events" label="Events">
      {stored.isError && stored.data === undefined ? (
        <div className="p-3">
          <FaultNote fault={faultOf(stored.error)} onRetry={() => void stored.refetch()} />
        </div>
      ) : stored.data === undefined ? (
        <SkeletonRows rows={4} label="Loading events" />
      ) : rows.length === 0 ? (
        <p className="px-4 py-6 text-soft">Nothing has happened yet.</p>
      ) : (
        <ul className="divide-y divide-line">
          {rows.map((event) => (
            <EventLine key={event.id} event={event} />
          ))}
        </ul>
      )}
      {stored.hasNextPage && (
        <div className="border-t border-line px-3 py-2">
          <Button look="quiet" size="small" disabled={stored.isFetchingNextPage} onClick={() => void stored.fetchNextPage()}>
            {stored.isFetchingNextPage ? "Loading" : "Earlier"}
          </Button>
        </div>
      )}
    </Panel>
  );
}

const initialCursor = (): number | null => null;
