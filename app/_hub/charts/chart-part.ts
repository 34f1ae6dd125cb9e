"use client";
import type { ChartPart } from "../../_ui/charts/chart-zoom.ts";
import { clockTime } from "../../_ui/text/times.ts";
import { useAddressWord } from "../address/address.ts";
import { RANGES, rangeOf, type ChartWindow, type Range } from "./ranges.ts";

/**
 * Time range of all charts of a page: a range that ends now, or a fixed part of it that was selected by dragging. Both are
 * kept in the page's address.
 */
interface PageTime {
  range: Range;
  setRange: (id: string) => void;
  part: ChartPart | null;
  setPart: (part: ChartPart | null) => void;
  /**
   * Minutes of samples to query. For a part this is the shortest range that reaches it, because shorter ranges have a finer
   * resolution.
   */
  minutes: number;
}

const WORD = /^(\w{2,3})\.(\d{12,14})-(\d{12,14})$/;

/** Parses `1h.1790000000000-1790000600000`, a part of that range in epoch ms. Null when invalid or for another range. */
export function readPart(word: string, range: Range): ChartPart | null {
  const [, id, from, to] = WORD.exec(word) ?? [];
  return id === range.id && Number(from) < Number(to) ? { from: Number(from), to: Number(to) } : null;
}

/** Returns the shortest range that reaches back to `from`, at most the chosen one. */
export const reachingRange = (range: Range, from: number, now: number): Range =>
  RANGES.find(({ minutes }) => minutes <= range.minutes && now - minutes * 60_000 <= from) ?? range;

/** Returns the time range of the page. `now` is the hub's time, 0 until it is known. */
export function usePageTime(now: number): PageTime {
  const [word, setRange] = useAddressWord("range", "1h");
  const [partWord, setPartWord] = useAddressWord("part", "");
  const range = rangeOf(word);
  const part = readPart(partWord, range);
  return {
    range,
    setRange,
    part,
    setPart: (to) => setPartWord(to === null ? "" : `${range.id}.${Math.round(to.from)}-${Math.round(to.to)}`),
    minutes: part === null || now === 0 ? range.minutes : reachingRange(range, part.from, now).minutes,
  };
}

/** Returns the shown time in words: "last hour", "since 10:24", "10:24 to 10:31". */
export function windowWords({
  range,
  part,
  since,
}: Pick<PageTime, "range" | "part"> & Pick<ChartWindow, "since">): string {
  if (part !== null) return `${clockTime(part.from)} to ${clockTime(part.to)}`;
  return since === null ? `last ${range.words}` : `since ${clockTime(since)}`;
}

/** Returns the range and zoom props of a chart. */
export const partProps = ({ part, setPart }: PageTime, whole: ChartWindow) => ({
  from: part?.from ?? whole.from,
  to: part?.to ?? whole.to,
  whole: part === null ? null : { from: whole.from, to: whole.to },
  onPart: setPart,
});
