"use client";
import { Link } from "../../_ui/navigation/link.tsx";
import { sentenceOf } from "#protocol/faults/fault.ts";
import { formatCount } from "#protocol/base/units.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import { Mark } from "../../_ui/indicators/mark.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { ClockTime } from "../live/age.tsx";
import { wordsOf } from "../faults/fault-of.ts";

/** Returns the sentence of an event without its fault, which the page says in words of its own behind it. */
export const textWithoutFault = ({ text, fault }: Pick<EventRow, "text" | "fault">): string =>
  fault === null ? text : text.replace(`: ${sentenceOf(fault)}`, "");

/** What happened: the run's name leads to the run and is not broken over two lines. */
export function EventWords({ event }: { event: EventRow }) {
  const run = event.run;
  const link = run !== null && (
    <Link
      href={`/runs/${encodeURIComponent(run)}`}
      className="inline-block max-w-full truncate align-bottom hover:underline"
    >
      {visibleText(run)}
    </Link>
  );
  if (event.kind === "checkpoint-safe" && event.step !== null)
    return (
      <>
        saved {link} step {formatCount(event.step)}
        {event.work === "risk" && " as doubtful"}
      </>
    );
  const text = textWithoutFault(event);
  const at = run === null ? -1 : text.indexOf(run);
  if (run === null || at === -1) return <>{visibleText(text)}</>;
  return (
    <>
      {visibleText(text.slice(0, at))}
      {link}
      {visibleText(text.slice(at + run.length))}
    </>
  );
}

/** What a program said before it ended: folded, because most ends are no riddle. */
function LastWords({ text }: { text: string }) {
  return (
    <details className="mt-1 text-12 text-soft">
      <summary className="cursor-pointer select-none">its last words</summary>
      <pre className="mt-1 rounded-1 bg-sunk px-2 py-1.5 font-mono text-11 leading-4 [overflow-wrap:anywhere] whitespace-pre-wrap">
        {text.split("\n").map(visibleText).join("\n")}
      </pre>
    </details>
  );
}

/** One line of history: time, shape, sentence. */
export function EventLine({ event }: { event: EventRow }) {
  return (
    <li className="grid grid-cols-[40px_12px_minmax(0,1fr)] gap-2 px-4 py-2">
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
        <EventWords event={event} />
        {event.fault !== null && <span className="text-soft">. {visibleText(wordsOf(event.fault).says)}</span>}
        {event.detail !== null && <LastWords text={event.detail} />}
      </span>
    </li>
  );
}
