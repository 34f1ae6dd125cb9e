import type { Finding } from "#protocol/alerts/advice.ts";
import { byLink, ofBenchmarks, rateOf, type LinkRow } from "./link-row.ts";
import { medianOf } from "#protocol/base/robust.ts";

/** Least number of rates in each direction. */
export const LEAST = 3;
/** Least ratio of the faster direction to the slower one; two to four is usual for home links. */
const TIMES = 8;

/** Finds links in use with one direction many times as fast as the other. */
export function findAsymmetric(rows: readonly LinkRow[]): Finding[] {
  return [...byLink(rows).values()].flatMap((link): Finding[] => {
    const used = link.filter((row) => rateOf(row, "up") !== null || rateOf(row, "down") !== null);
    const up = link.map((row) => rateOf(row, "up")).filter((rate) => rate !== null);
    const down = link.map((row) => rateOf(row, "down")).filter((rate) => rate !== null);
    const [first] = link;
    if (first === undefined || up.length < LEAST || down.length < LEAST) return [];
    if (!link.some(({ isUsed }) => isUsed)) return [];
    const [upRate, downRate] = [medianOf(up), medianOf(down)];
    if (upRate <= 0 || downRate <= 0) return [];
    const times = Math.max(downRate / upRate, upRate / downRate);
    if (times < TIMES) return [];
    return [
      {
        kind: "asymmetric",
        node: first.node,
        profileId: first.profileId,
        region: null,
        way: upRate < downRate ? "up" : "down",
        run: null,
        betterId: null,
        better: null,
        facts: [
          { label: "up, usually", value: upRate, as: "rate" },
          { label: "down, usually", value: downRate, as: "rate" },
          { label: "the one over the other", value: times, as: "times" },
        ],
        samples: up.length + down.length,
        least: 2 * LEAST,
        ofBenchmarks: ofBenchmarks(used),
        nodes: 1,
      },
    ];
  });
}
