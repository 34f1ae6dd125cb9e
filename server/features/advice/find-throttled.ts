import type { Finding } from "#protocol/alerts/advice.ts";
import { aboutLink } from "./about-link.ts";
import { byLink, WAYS, type LinkRow } from "./link-row.ts";
import { medianOf } from "#protocol/base/robust.ts";

/** Least transfers that were long enough to have both rates. */
export const LEAST = 5;
/**
 * A transfer slows down if its late rate is at most `LATE_SHARE` of its burst rate. A link is throttled if `SHOWING_SHARE` of
 * its transfers do.
 */
const LATE_SHARE = 0.6;
const SHOWING_SHARE = 0.6;

/** Finds links that are fast at first and then slow: a provider's burst allowance, or a machine that heats up. */
export function findThrottled(rows: readonly LinkRow[]): Finding[] {
  return [...byLink(rows).values()].flatMap((link) => WAYS.flatMap((way) => throttled(link, way)));
}

function throttled(link: readonly LinkRow[], way: "up" | "down"): Finding[] {
  const kind = way === "up" ? "upload" : "download";
  const both = link.flatMap((row) =>
    row.kind === kind && row.outcome === "done" && row.burstRate !== null && row.lateRate !== null
      ? [{ burst: row.burstRate, late: row.lateRate }]
      : [],
  );
  const [first] = link;
  const showing = both.filter(({ burst, late }) => late <= burst * LATE_SHARE);
  if (first === undefined || both.length < LEAST || showing.length < both.length * SHOWING_SHARE) return [];
  return [
    {
      ...aboutLink(first),
      kind: "throttled",
      way,
      facts: [
        { label: "first seconds", value: medianOf(both.map(({ burst }) => burst)), as: "rate" },
        { label: "last quarter", value: medianOf(both.map(({ late }) => late)), as: "rate" },
        { label: "transfers that show it", value: showing.length / both.length, as: "share" },
      ],
      samples: both.length,
      least: LEAST,
      ofBenchmarks: 0,
      nodes: 1,
    },
  ];
}
