"use client";
import { Panel } from "../../_ui/layout/panel.tsx";
import { EventLine } from "./event-line.tsx";
import { Listed } from "../queries/listed.tsx";
import { useEvents } from "./use-events.ts";

/** Shows events, newest first. */
export function EventsPanel({ nodeId, run }: { nodeId: string | null; run: string | null }) {
  const { rows, query } = useEvents(nodeId, run);
  return (
    <Panel title="Events" label="Events">
      <Listed
        query={query}
        rows={rows}
        loading={{ label: "Loading events", rows: 4 }}
        empty={<p className="px-4 py-6 text-soft">No events yet.</p>}
      >
        {(events) => (
          <ul className="divide-y divide-line">
            {events.map((event) => (
              <EventLine key={event.id} event={event} />
            ))}
          </ul>
        )}
      </Listed>
    </Panel>
  );
}
