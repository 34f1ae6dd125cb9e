"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { Link } from "../../_ui/navigation/link.tsx";
import { sentenceOf } from "#protocol/faults/fault.ts";
import type { EventRow } from "#protocol/wire/views.ts";
import { Mark } from "../../_ui/indicators/mark.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { ClockTime } from "../live/age.tsx";
import { wordsOf } from "../faults/fault-of.ts";

/** Returns the sentence of an event without its fault, which the page adds in its own words. */
export const textWithoutFault = ({ text, fault }: Pick<EventRow, "text" | "fault">): string =>
  fault === null ? text : text.replace(`: ${sentenceOf(fault)}`, "");

/** Shows what happened. The run's name links to the run and does not wrap. */
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
        saved {link} {stepWords(event.step)}
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

/** Shows the last output of a program that ended, collapsed, because the event usually explains the end. */
function LastWords({ text }: { text: string }) {
  return (
    <details className="mt-1 text-12 text-soft">
      <summary className="cursor-pointer select-none">its final output</summary>
      <pre className="mt-1 rounded-1 bg-sunk px-2 py-1.5 font-mono text-11 leading-4 [overflow-wrap:anywhere] whitespace-pre-wrap">
        {text.split("\n").map(visibleText).join("\n")}
      </pre>
    </details>
  );
}

/** Shows one event: time, mark, sentence. */
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
