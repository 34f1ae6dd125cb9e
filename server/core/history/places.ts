import type { Database, Transaction } from "#prisma/open.ts";
import { OWN_ENGINE } from "#protocol/wire/measured.ts";
import type { RegionRule } from "#protocol/history/history.ts";
import type { LiveNode } from "../live/live-node.ts";
import { regionOf } from "./region-of.ts";
import type { Place, Numbered, Places } from "../api/ports/history.ts";

/** Assigns numbers to nodes and ids to series, which never change. The cache in memory holds committed rows only. */

const nameOf = (place: Place): string =>
  [place.nodeId, place.profileId, place.provider, place.bucketRegion, place.nodeRegion, place.engine].join(" ");

export async function openPlaces(db: Database): Promise<Places> {
  const numbers = new Map<string, number>();
  const nodeIds = new Map<number, string>();
  const series = new Map<string, Numbered>();
  const profiles = new Map<number, string>();
  const keepNode = (nodeId: string, number: number) => {
    numbers.set(nodeId, number);
    nodeIds.set(number, nodeId);
  };
  const keep: Places["keep"] = (place, numbered) => {
    keepNode(place.nodeId, numbered.node);
    series.set(nameOf(place), numbered);
  };
  let last = 0;
  const refresh = async (): Promise<void> => {
    const rows = await db.historyNode.findMany({ where: { number: { gt: last } }, orderBy: { number: "asc" } });
    for (const { nodeId, number } of rows) {
      keepNode(nodeId, number);
      last = number;
    }
  };
  await refresh();
  for (const { node, id: seriesId, wholeId, ...rest } of await db.historySeries.findMany({
    where: { node: { gt: 0 } },
  })) {
    profiles.set(seriesId, rest.profileId);
    const nodeId = nodeIds.get(node);
    if (nodeId !== undefined) series.set(nameOf({ ...rest, nodeId }), { node, seriesId, wholeId });
  }
  return {
    refresh,
    nodeIdOf: (number) => nodeIds.get(number) ?? null,
    numberOf: (nodeId) => numbers.get(nodeId) ?? null,
    known: (place) => series.get(nameOf(place)) ?? null,
    profileOf: (seriesId) => profiles.get(seriesId) ?? null,
    keep,
  };
}

/** Returns the numbers of a place and creates them if the place is new. Callers cache the result only after the commit. */
export async function numberPlace(tx: Transaction, place: Place): Promise<Numbered> {
  const { nodeId, ...rest } = place;
  const { number: node } =
    (await tx.historyNode.findUnique({ where: { nodeId } })) ?? (await tx.historyNode.create({ data: { nodeId } }));
  const wholeId = await seriesOf(tx, { ...rest, node: 0, wholeId: 0 });
  return { node, wholeId, seriesId: await seriesOf(tx, { ...rest, node, wholeId }) };
}

async function seriesOf(
  tx: Transaction,
  row: Omit<Place, "nodeId"> & { node: number; wholeId: number },
): Promise<number> {
  const { wholeId, ...unique } = row;
  const where = { node_profileId_nodeRegion_engine_provider_bucketRegion: unique };
  const found = await tx.historySeries.findUnique({ where, select: { id: true } });
  return (found ?? (await tx.historySeries.create({ data: { ...unique, wholeId } }))).id;
}

/** Returns where a node is, by the current region rules. */
export function placeOf(
  node: Pick<LiveNode, "id" | "name" | "facts">,
  about: { profile: { id: string; provider: string; region: string }; rules: readonly RegionRule[]; engine?: string },
): Place {
  const { profile, rules, engine = OWN_ENGINE } = about;
  return {
    nodeId: node.id,
    profileId: profile.id,
    provider: profile.provider,
    bucketRegion: profile.region,
    nodeRegion: regionOf(rules, node),
    engine,
  };
}
