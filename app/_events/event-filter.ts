import type { EventRow } from "#protocol/views.ts";

/** What the events page shows. Days are of this browser's calendar; empty means all. */
export interface EventFilter {
  kind: string;
  node: string;
  run: string;
  words: string;
  /** `2026-11-22`. */
  fromDay: string;
  toDay: string;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

function startOfDay(day: string): Date | null {
  const at = DAY.test(day) ? new Date(`${day}T00:00:00`) : null;
  return at === null || Number.isNaN(at.getTime()) ? null : at;
}

/** The filter as the hub takes it; `to` is the first moment after the last day. */
export function askedBy(filter: EventFilter) {
  const after = startOfDay(filter.toDay);
  after?.setDate(after.getDate() + 1);
  return {
    kinds: filter.kind === "" ? [] : [filter.kind],
    nodeWords: filter.node,
    runWords: filter.run,
    words: filter.words,
    from: startOfDay(filter.fromDay)?.getTime() ?? null,
    to: after?.getTime() ?? null,
  };
}

const holds = (text: string | null, words: string): boolean =>
  words === "" || (text?.toLowerCase().includes(words.trim().toLowerCase()) ?? false);

/** Whether an event that has just happened belongs to what is shown: as the hub would decide. */
export function fitsFilter(event: EventRow, filter: EventFilter): boolean {
  const { kinds, from, to } = askedBy(filter);
  const said = [event.text, event.detail, event.nodeName, event.run, JSON.stringify(event.fault)];
  return (
    (kinds.length === 0 || kinds.includes(event.kind)) &&
    holds(event.nodeName, filter.node) &&
    holds(event.run, filter.run) &&
    said.some((text) => holds(text, filter.words)) &&
    (from === null || event.at >= from) &&
    (to === null || event.at < to)
  );
}
