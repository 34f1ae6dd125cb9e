"use client";
import { Button } from "../_ui/button.tsx";
import { Panel } from "../_ui/panel.tsx";
import { SkeletonRows } from "../_ui/skeleton.tsx";
import { EventLine } from "./event-line.tsx";
import { FaultNote } from "./fault-note.tsx";
import { faultOf } from "./fault-of.ts";
import { useEvents } from "./use-events.ts";

/** What has happened, newest first. */
export function EventsPanel({ nodeId, run }: { nodeId: string | null; run: string | null }) {
  const { rows, query } = useEvents(nodeId, run);
  return (
    <Panel title="Events" label="Events">
      {rows === null && query.isError ? (
        <div className="p-3">
          <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />
        </div>
      ) : rows === null ? (
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
      {query.hasNextPage && (
        <div className="border-t border-line px-3 py-2">
          <Button
            look="quiet"
            size="small"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {query.isFetchingNextPage ? "Loading" : "Earlier"}
          </Button>
        </div>
      )}
    </Panel>
  );
}
