import type { EventRow } from "#protocol/wire/views.ts";
import { holdsWords, spanOfDays } from "../_hub/address/word-filter.ts";

/** What the events page shows. Days are of the zone this browser chose; empty means all. */
export interface EventFilter {
  kind: string;
  node: string;
  run: string;
  words: string;
  /** `2026-11-22`. */
  fromDay: string;
  toDay: string;
}

/** The filter as the hub takes it; `to` is the first moment after the last day. */
export function askedBy(filter: EventFilter) {
  return {
    kinds: filter.kind === "" ? [] : [filter.kind],
    nodeWords: filter.node,
    runWords: filter.run,
    words: filter.words,
    ...spanOfDays(filter),
  };
}

/** Whether an event that has just happened belongs to what is shown: as the hub would decide. */
export function fitsFilter(event: EventRow, filter: EventFilter): boolean {
  const { kinds, from, to } = askedBy(filter);
  const said = [event.text, event.detail, event.nodeName, event.run, JSON.stringify(event.fault)];
  return (
    (kinds.length === 0 || kinds.includes(event.kind)) &&
    holdsWords(event.nodeName, filter.node) &&
    holdsWords(event.run, filter.run) &&
    said.some((text) => holdsWords(text, filter.words)) &&
    (from === null || event.at >= from) &&
    (to === null || event.at < to)
  );
}
