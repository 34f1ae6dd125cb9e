import type { LinkRecordView, ListHistoryInput } from "#protocol/history/history.ts";
import type { Prisma } from "#prisma/client/client.ts";
import type { Hub } from "../api/hub.ts";

const numberOf = (value: bigint | null): number | null => (value === null ? null : Number(value));

function whereOf(hub: Hub, input: ListHistoryInput): Prisma.LinkRecordWhereInput {
  const { profileId, region, engine, nodeId, kinds, outcome, cursor } = input;
  const series = {
    ...(profileId === null ? {} : { profileId }),
    ...(region === null ? {} : { nodeRegion: region }),
    ...(engine === null ? {} : { engine }),
  };
  const [at = 0, id = 0] = cursor?.split("-").map(Number) ?? [];
  const after = new Date(at);
  return {
    at: { gte: new Date(input.from), lt: new Date(input.to) },
    ...(nodeId === null ? {} : { node: hub.history.places.numberOf(nodeId) ?? -1 }),
    ...(kinds.length === 0 ? {} : { kind: { in: kinds } }),
    ...(outcome === null ? {} : { outcome }),
    ...(Object.keys(series).length === 0 ? {} : { series }),
    ...(cursor === null ? {} : { OR: [{ at: { lt: after } }, { at: after, id: { lt: id } }] }),
  };
}

/** Returns probes and transfers one by one, newest first; `nextCursor` is null on the last page. */
export async function listHistory(
  hub: Hub,
  input: ListHistoryInput,
): Promise<{ rows: LinkRecordView[]; nextCursor: string | null }> {
  await hub.history.places.refresh();
  const found = await hub.db.linkRecord.findMany({
    where: whereOf(hub, input),
    omit: { seriesId: true },
    include: { series: true },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: input.limit + 1,
  });
  const names = new Map([...hub.live.nodes.values()].map((node) => [node.profileId, node.profileName]));
  const rows = found.slice(0, input.limit).map(({ series, node, ...row }): LinkRecordView => {
    const nodeId = hub.history.places.nodeIdOf(node) ?? "";
    return {
      ...row,
      at: row.at.getTime(),
      kind: row.kind as LinkRecordView["kind"],
      nodeId,
      nodeName: hub.live.nodes.get(nodeId)?.name ?? null,
      region: series.nodeRegion,
      profileId: series.profileId,
      profileName: names.get(series.profileId) ?? null,
      provider: series.provider,
      bucketRegion: series.bucketRegion,
      engine: series.engine,
      sizeBytes: numberOf(row.sizeBytes),
      sentBytes: numberOf(row.sentBytes),
      partBytes: numberOf(row.partBytes),
    };
  });
  const last = rows.at(-1);
  const hasMore = found.length > input.limit && last !== undefined;
  return { rows, nextCursor: hasMore ? `${last.at}-${last.id}` : null };
}
