import type { Finding } from "#protocol/alerts/advice.ts";
import { aboutLink } from "./about-link.ts";
import { byLink, rateOf, unasked, WAYS, type LinkRow } from "./link-row.ts";
import { medianOf, superiorityOf } from "#protocol/base/robust.ts";

const DAY_MS = 86_400_000;
/** Rates of this period are compared with all earlier rates. */
const RECENT_MS = 3 * DAY_MS;
export const LEAST_RECENT = 4;
export const LEAST_PAST = 8;
/** The recent rates must cover at least this many days, so that one bad evening does not count as a decline. */
const LEAST_DAYS = 2;
/** Highest share of the past median, and least probability that a past rate exceeds a recent one. */
const SHARE = 0.7;
const SURE = 0.85;

/**
 * Finds links that are slower than they used to be. Ignores benchmark cases: they use other settings and run beside other
 * nodes, so they would look like a decline after a quiet past.
 */
export function findDegrading(rows: readonly LinkRow[], now: number): Finding[] {
  return [...byLink(unasked(rows)).values()].flatMap((link) => WAYS.flatMap((way) => degrading(link, { way, now })));
}

function degrading(link: readonly LinkRow[], { way, now }: { way: "up" | "down"; now: number }): Finding[] {
  const seen = link.flatMap((row) => {
    const rate = rateOf(row, way);
    return rate === null ? [] : [{ at: row.at, rate }];
  });
  const recent = seen.filter(({ at }) => at >= now - RECENT_MS);
  const past = seen.filter(({ at }) => at < now - RECENT_MS).map(({ rate }) => rate);
  const days = new Set(recent.map(({ at }) => Math.floor(at / DAY_MS))).size;
  const [first] = link;
  if (first === undefined || recent.length < LEAST_RECENT || past.length < LEAST_PAST || days < LEAST_DAYS) return [];
  const rates = recent.map(({ rate }) => rate);
  const [was, is] = [medianOf(past), medianOf(rates)];
  const sureness = superiorityOf(past, rates);
  if (is > was * SHARE || sureness < SURE) return [];
  return [
    {
      ...aboutLink(first),
      kind: "degrading",
      way,
      facts: [
        { label: "usually before", value: was, as: "rate" },
        { label: "usually in the last three days", value: is, as: "rate" },
        { label: "a value before beats one now", value: sureness, as: "share" },
      ],
      samples: seen.length,
      least: LEAST_PAST + LEAST_RECENT,
      ofBenchmarks: 0,
      nodes: 1,
    },
  ];
}
