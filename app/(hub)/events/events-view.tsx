"use client";
import { formatCount } from "#protocol/base/units.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import { EventEntry } from "../../_events/event-entry.tsx";
import { EVENT_KINDS, EVENT_LABELS } from "../../_events/event-kinds.ts";
import { useFoundEvents } from "../../_events/use-found-events.ts";
import { useAddressWord, useAddressWords } from "../../_hub/address/address.ts";
import { Listed } from "../../_hub/queries/listed.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { SearchField } from "../../_ui/controls/search-field.tsx";
import { Button } from "../../_ui/controls/button.tsx";
import { DayRange } from "../../_ui/controls/day-range.tsx";
import { Empty, Panel } from "../../_ui/layout/panel.tsx";
import { PlainSelect } from "../../_ui/controls/plain-select.tsx";
import { longDay } from "../../_ui/text/times.ts";

const KIND_CHOICES = [
  { value: "any", label: "All kinds" },
  ...Object.entries(EVENT_LABELS)
    .map(([value, label]) => ({ value, label: `${label.slice(0, 1).toUpperCase()}${label.slice(1)}` }))
    .sort((a, b) => (a.label < b.label ? -1 : 1)),
];

const dayOf = (event: EventRow): string => longDay(event.at);

/** Lists all events with filters by kind, node, run, day and words. */
export function EventsView() {
  const [words, setWords] = useAddressWord("q", "", "same");
  const [node, setNode] = useAddressWord("node", "", "same");
  const [run, setRun] = useAddressWord("run", "", "same");
  const [kind, setKind] = useAddressWord("kind", "any");
  const [fromDay, setFromDay] = useAddressWord("from", "", "same");
  const [toDay, setToDay] = useAddressWord("to", "", "same");
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
            placeholder="Text, final output, faults"
          />
          <SearchField label="Node" width="short" value={node} onChange={setNode} placeholder="Node" />
          <SearchField label="Run" width="short" value={run} onChange={setRun} placeholder="Run" />
          <div className="w-full sm:w-40">
            <PlainSelect label="Kind" value={shown} placeholder="Kind" choices={KIND_CHOICES} onChange={setKind} />
          </div>
          <DayRange
            labels={["From day", "To day"]}
            fromDay={fromDay}
            toDay={toDay}
            onChange={(some) => ("fromDay" in some ? setFromDay(some.fromDay) : setToDay(some.toDay))}
          />
          {isFiltered && (
            <Button look="quiet" size="small" onClick={() => clear({})}>
              Clear
            </Button>
          )}
        </div>
        <Listed
          query={query}
          rows={rows}
          loading={{ label: "Loading events", rows: 10 }}
          empty={
            <Empty
              title={isFiltered ? "No event matches" : "No events yet"}
              action={isFiltered ? <Button onClick={() => clear({})}>Show all events</Button> : undefined}
            >
              {isFiltered
                ? "No event of the last 90 days matches all of these filters."
                : "Nodes that join, checkpoints that become safe, restores and failures are written down here."}
            </Empty>
          }
          note={query.hasNextPage ? `${formatCount(rows?.length ?? 0)} shown` : undefined}
        >
          {(events) => <EventDays rows={events} />}
        </Listed>
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
