"use client";
import Link from "next/link";
import type { EventRow } from "#protocol/views.ts";
import { Mark } from "../_ui/mark.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { ClockTime } from "./age.tsx";
import { wordsOf } from "./fault-of.ts";

/** One line of history: time, shape, sentence. */
export function EventLine({ event }: { event: EventRow }) {
  return (
    <li className="grid grid-cols-[46px_12px_minmax(0,1fr)] gap-2 px-4 py-2">
      <span className="text-12 leading-5 text-faint">
        <ClockTime at={event.at} />
      </span>
      <Mark tone={event.work} label={event.work} className="mt-[5px]" />
      <span>
        {event.nodeName !== null &&
          (event.nodeId === null ? (
            <b className="font-mid">{visibleText(event.nodeName)}</b>
          ) : (
            <Link href={`/nodes/${encodeURIComponent(event.nodeId)}`} className="font-mid hover:underline">
              {visibleText(event.nodeName)}
            </Link>
          ))}{" "}
        {visibleText(event.text)}
        {event.fault !== null && <span className="text-soft">. {visibleText(wordsOf(event.fault).says)}</span>}
      </span>
    </li>
  );
}
