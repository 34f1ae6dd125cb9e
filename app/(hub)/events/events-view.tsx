"use client";
import { formatCount } from "#protocol/units.ts";
import type { EventRow } from "#protocol/views.ts";
import { EventEntry } from "../../_events/event-entry.tsx";
import { EVENT_KINDS, EVENT_LABELS } from "../../_events/event-kinds.ts";
import { useFoundEvents } from "../../_events/use-found-events.ts";
import { useAddressWord, useAddressWords } from "../../_hub/address.ts";
import { FaultNote } from "../../_hub/fault-note.tsx";
import { faultOf } from "../../_hub/fault-of.ts";
import { PageHead, SearchField } from "../../_shell/page-head.tsx";
import { Button } from "../../_ui/button.tsx";
import { TextInput } from "../../_ui/field.tsx";
import { Empty, Panel } from "../../_ui/panel.tsx";
import { Select } from "../../_ui/select.tsx";
import { SkeletonRows } from "../../_ui/skeleton.tsx";

const KIND_CHOICES = [
  { value: "any", label: "All kinds" },
  ...Object.entries(EVENT_LABELS)
    .map(([value, label]) => ({ value, label: `${label.slice(0, 1).toUpperCase()}${label.slice(1)}` }))
    .sort((a, b) => (a.label < b.label ? -1 : 1)),
];

const dayOf = (event: EventRow): string =>
  new Date(event.at).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** Everything that has happened, with what programs said last, found by kind, node, run, day and words. */
export function EventsView() {
  const [words, setWords] = useAddressWord("q", "");
  const [node, setNode] = useAddressWord("node", "");
  const [run, setRun] = useAddressWord("run", "");
  const [kind, setKind] = useAddressWord("kind", "any");
  const [fromDay, setFromDay] = useAddressWord("from", "");
  const [toDay, setToDay] = useAddressWord("to", "");
  const clear = useAddressWords();
  const shown = EVENT_KINDS.includes(kind) ? kind : "any";
  const filter = { kind: shown === "any" ? "" : shown, node, run, words, fromDay, toDay };
  const isFiltered = Object.values(filter).some((word) => word !== "");
  const { rows, query } = useFoundEvents(filter);
  return (
    <>
      <PageHead title="Events" about="What has happened, newest first. Events are kept for 90 days." />
      <Panel label="Events">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2.5">
          <SearchField
            label="Search events"
            value={words}
            onChange={setWords}
            placeholder="Words, last words, faults"
          />
          <SearchField label="Node" width="short" value={node} onChange={setNode} placeholder="Node" />
          <SearchField label="Run" width="short" value={run} onChange={setRun} placeholder="Run" />
          <div className="w-full sm:w-40">
            <Select label="Kind" value={shown} choices={KIND_CHOICES} onChange={setKind} />
          </div>
          <div className="flex w-full items-center gap-2 text-soft sm:w-auto">
            <TextInput
              type="date"
              aria-label="From day"
              className="min-w-0 flex-1"
              value={fromDay}
              max={toDay === "" ? undefined : toDay}
              onChange={(event) => setFromDay(event.target.value)}
            />
            to
            <TextInput
              type="date"
              aria-label="To day"
              className="min-w-0 flex-1"
              value={toDay}
              min={fromDay === "" ? undefined : fromDay}
              onChange={(event) => setToDay(event.target.value)}
            />
          </div>
          {isFiltered && (
            <Button look="quiet" size="small" onClick={() => clear({})}>
              Clear
            </Button>
          )}
        </div>
        {rows === null && query.isError ? (
          <div className="p-3">
            <FaultNote fault={faultOf(query.error)} onRetry={() => void query.refetch()} />
          </div>
        ) : rows === null ? (
          <SkeletonRows rows={10} label="Loading events" />
        ) : rows.length === 0 ? (
          <Empty
            title={isFiltered ? "No event fits" : "Nothing has happened yet"}
            action={isFiltered ? <Button onClick={() => clear({})}>Show all events</Button> : undefined}
          >
            {isFiltered
              ? "Nothing of the last 90 days fits all of these filters."
              : "Nodes that join, checkpoints that become safe, restores and failures are written down here."}
          </Empty>
        ) : (
          <EventDays rows={rows} />
        )}
        {query.hasNextPage && (
          <div className="flex items-center gap-3 border-t border-line px-3 py-2">
            <Button
              look="quiet"
              size="small"
              disabled={query.isFetchingNextPage}
              onClick={() => void query.fetchNextPage()}
            >
              {query.isFetchingNextPage ? "Loading" : "Earlier"}
            </Button>
            <span className="nums text-12 text-faint">{formatCount(rows?.length ?? 0)} shown</span>
          </div>
        )}
      </Panel>
    </>
  );
}

function EventDays({ rows }: { rows: readonly EventRow[] }) {
  const days = new Map<string, EventRow[]>();
  for (const row of rows) {
    const day = dayOf(row);
    const known = days.get(day);
    if (known === undefined) days.set(day, [row]);
    else known.push(row);
  }
  return [...days].map(([day, events]) => (
    <section key={day} aria-label={day} className="border-b border-line last:border-b-0">
      <h2 className="sticky top-12 z-10 border-b border-line bg-sunk px-4 py-1 text-12 font-mid text-soft">{day}</h2>
      <ul className="divide-y divide-line">
        {events.map((event) => (
          <EventEntry key={event.id} event={event} />
        ))}
      </ul>
    </section>
  ));
}
