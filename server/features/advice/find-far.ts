import type { Finding } from "#protocol/alerts/advice.ts";
import { byLink, ofBenchmarks, type LinkRow } from "./link-row.ts";
import { medianOf } from "#protocol/base/robust.ts";

export const LEAST = 5;
/** Typical round trip between continents. */
const FAR_MS = 150;
/** Another bucket is nearer if at least this number of nodes of the region have at most this share of the round trip to it. */
const LEAST_NEIGHBOURS = 3;
const NEARER = 0.5;

/** Finds links in use with a round trip long enough to limit each connection, and the nearer bucket if there is one. */
export function findFar(rows: readonly LinkRow[]): Finding[] {
  const links = [...byLink(rows).values()].flatMap((link) => {
    const measured = link.filter(({ rttMs }) => rttMs !== null);
    const trips = measured.map(({ rttMs }) => rttMs).filter((ms) => ms !== null);
    const last = link.at(-1);
    if (last === undefined || trips.length === 0) return [];
    const { node, profileId, nodeRegion } = last;
    return [
      {
        node,
        profileId,
        nodeRegion,
        rttMs: medianOf(trips),
        samples: trips.length,
        isUsed: link.some((row) => row.isUsed),
        ofBenchmarks: ofBenchmarks(measured),
      },
    ];
  });
  const places = Map.groupBy(
    links.filter(({ nodeRegion }) => nodeRegion !== ""),
    ({ nodeRegion, profileId }) => `${nodeRegion} ${profileId}`,
  );
  const usual = [...places.values()].flatMap((place) => {
    const [first] = place;
    if (first === undefined || place.length < LEAST_NEIGHBOURS) return [];
    const { nodeRegion, profileId } = first;
    return [{ nodeRegion, profileId, rttMs: medianOf(place.map(({ rttMs }) => rttMs)) }];
  });
  return links.flatMap((link): Finding[] => {
    if (!link.isUsed || link.samples < LEAST || link.rttMs < FAR_MS) return [];
    const nearer = usual
      .filter((place) => place.nodeRegion === link.nodeRegion && place.profileId !== link.profileId)
      .toSorted((a, b) => a.rttMs - b.rttMs)
      .find(({ rttMs }) => rttMs <= link.rttMs * NEARER);
    return [
      {
        kind: "far",
        node: link.node,
        profileId: link.profileId,
        region: null,
        way: null,
        run: null,
        betterId: nearer?.profileId ?? null,
        better: null,
        facts: [
          { label: "round trip, usually", value: link.rttMs, as: "duration" },
          ...(nearer === undefined
            ? []
            : [{ label: "to the nearer bucket, for its neighbours", value: nearer.rttMs, as: "duration" as const }]),
        ],
        samples: link.samples,
        least: LEAST,
        ofBenchmarks: link.ofBenchmarks,
        nodes: 1,
      },
    ];
  });
}
