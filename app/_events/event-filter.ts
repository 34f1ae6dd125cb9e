import type { EventRow } from "#protocol/wire/views.ts";
import { holdsWords, spanOfDays } from "../_hub/address/word-filter.ts";

/** Filter of the events page. Days are in the zone chosen in this browser; empty fields match everything. */
export interface EventFilter {
  kind: string;
  node: string;
  run: string;
  words: string;
  /** As `2026-11-22`. */
  fromDay: string;
  toDay: string;
}

/** Returns the filter as input for the hub; `to` is the first moment after the last day. */
export function askedBy(filter: EventFilter) {
  return {
    kinds: filter.kind === "" ? [] : [filter.kind],
    nodeWords: filter.node,
    runWords: filter.run,
    words: filter.words,
    ...spanOfDays(filter),
  };
}

/** Returns whether a live event matches the filter, by the hub's own rules. */
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
