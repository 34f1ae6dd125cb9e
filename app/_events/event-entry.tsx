"use client";
import { Link } from "../_ui/navigation/link.tsx";
import { sentenceOf } from "#protocol/faults/fault.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import { EventWords } from "../_hub/events/event-line.tsx";
import { FaultDetails } from "../_hub/faults/fault-note.tsx";
import { wordsOf } from "../_hub/faults/fault-of.ts";
import { Copy } from "../_ui/controls/copy.tsx";
import { Mark } from "../_ui/indicators/mark.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { EVENT_LABELS } from "./event-kinds.ts";
import { clockSeconds } from "../_ui/text/times.ts";

/** Returns an event as plain text, for copying. */
const plainText = (event: EventRow): string =>
  [
    `${new Date(event.at).toISOString()} ${[event.nodeName, event.text].filter((part) => part !== null).join(" ")}`,
    ...(event.fault === null ? [] : [sentenceOf(event.fault)]),
    ...(event.detail === null ? [] : [event.detail]),
  ].join("\n");

/** Shows all details of one event, expanded. */
export function EventEntry({ event }: { event: EventRow }) {
  const { nodeName, nodeId, fault, detail } = event;
  return (
    <li className="group grid grid-cols-[60px_12px_minmax(0,1fr)_26px] gap-x-2.5 py-2 pr-3 pl-4 md:grid-cols-[60px_12px_minmax(0,1fr)_auto_26px]">
      <time dateTime={new Date(event.at).toISOString()} className="nums text-12 leading-5 text-faint">
        {clockSeconds(event.at)}
      </time>
      <Mark tone={event.work} label={event.work} className="mt-[5px]" />
      <div className="min-w-0">
        <div className="[overflow-wrap:anywhere]">
          {nodeName !== null &&
            (nodeId === null ? (
              <b className="font-mid">{visibleText(nodeName)}</b>
            ) : (
              <Link href={`/nodes/${encodeURIComponent(nodeId)}`} data-row-link className="font-mid hover:underline">
                {visibleText(nodeName)}
              </Link>
            ))}{" "}
          <EventWords event={event} />
        </div>
        {fault !== null && (
          <div className="mt-0.5 text-soft">
            {visibleText(wordsOf(fault).says)} {wordsOf(fault).next}
            <FaultDetails fault={fault} />
          </div>
        )}
        {detail !== null && (
          <pre className="mt-1.5 rounded-1 bg-sunk px-2.5 py-2 font-mono text-11 leading-4 [overflow-wrap:anywhere] whitespace-pre-wrap max-sm:-mr-8 max-sm:-ml-[92px]">
            {detail.split("\n").map(visibleText).join("\n")}
          </pre>
        )}
      </div>
      <span className="text-12 leading-5 text-faint max-md:hidden">{EVENT_LABELS[event.kind]}</span>
      <span className="col-start-4 row-start-1 -my-[3px] md:col-start-5">
        <Copy text={plainText(event)} label="Copy this event" />
      </span>
    </li>
  );
}
