import { addRisks } from "#protocol/risk.ts";
import type { SamplePoint } from "#protocol/views.ts";
import type { Prisma } from "#prisma/client/client.ts";
import type { Hub } from "../hub.ts";
import { risksOf, take } from "./live-node.ts";

const MINUTE_MS = 60_000;
/** Charts get at most about this many points. */
const MOST_POINTS = 720;
const WRITTEN_AT_ONCE = 100;
export const SAMPLES_KEPT_MS = 7 * 86_400_000;

/** Writes one line per node for the minute that ends at `now`. Nodes that were not heard in it leave a gap. */
export async function writeSamples(hub: Hub, now: number): Promise<void> {
  const at = new Date(Math.floor(now / MINUTE_MS) * MINUTE_MS);
  const data: Prisma.SampleCreateManyInput[] = [];
  for (const node of hub.live.nodes.values()) {
    if (node.minute.up.count === 0) continue;
    const risk = addRisks(risksOf(node, now));
    data.push({
      nodeId: node.id,
      at,
      upBytesPerSecond: take(node.minute.up),
      downBytesPerSecond: take(node.minute.down),
      atRiskBytes: BigInt(risk.bytes),
      lossMs: BigInt(Math.round(risk.lossMs)),
      rttMs: node.report?.rttMs ?? null,
    });
  }
  if (data.length === 0) return;
  await hub.db.$transaction(async (tx) => {
    for (let from = 0; from < data.length; from += WRITTEN_AT_ONCE) {
      const some = data.slice(from, from + WRITTEN_AT_ONCE);
      // The same minute may come twice when the clock beats a little fast.
      await tx.sample.deleteMany({ where: { at, nodeId: { in: some.map(({ nodeId }) => nodeId) } } });
      await tx.sample.createMany({ data: some });
    }
  });
}

const mean = (sum: number, count: number): number => (count === 0 ? 0 : sum / count);

interface Bucket extends SamplePoint {
  rttSum: number;
  rttCount: number;
}

/**
 * The chart of one node, or of the whole fleet (`nodeId` null), oldest first. Long spans are thinned: points of the same
 * stretch give their mean, and what was at risk its highest value.
 */
export async function listSamples(hub: Hub, input: { nodeId: string | null; minutes: number }): Promise<SamplePoint[]> {
  const since = hub.now() - input.minutes * MINUTE_MS;
  // Added up by the database: a week of a large fleet is more than fits in memory.
  const minutes = await hub.db.sample.groupBy({
    by: ["at"],
    where: { at: { gte: new Date(since) }, ...(input.nodeId === null ? {} : { nodeId: input.nodeId }) },
    _sum: { upBytesPerSecond: true, downBytesPerSecond: true, atRiskBytes: true, lossMs: true, rttMs: true },
    _count: { rttMs: true },
    orderBy: { at: "asc" },
  });
  const points = minutes.map(({ at, _sum: sum, _count: count }): Bucket => ({
    at: at.getTime(),
    upBytesPerSecond: sum.upBytesPerSecond ?? 0,
    downBytesPerSecond: sum.downBytesPerSecond ?? 0,
    atRiskBytes: Number(sum.atRiskBytes ?? 0n),
    lossMs: Number(sum.lossMs ?? 0n),
    rttMs: null,
    rttSum: sum.rttMs ?? 0,
    rttCount: count.rttMs,
  }));
  return thin(points, Math.max(1, Math.ceil(input.minutes / MOST_POINTS)) * MINUTE_MS);
}

function thin(points: readonly Bucket[], stretchMs: number): SamplePoint[] {
  const stretches = Map.groupBy(points, ({ at }) => Math.floor(at / stretchMs) * stretchMs);
  return [...stretches].map(([at, members]) => {
    const total = (pick: (point: Bucket) => number) => members.reduce((sum, point) => sum + pick(point), 0);
    const rttCount = total((point) => point.rttCount);
    return {
      at,
      upBytesPerSecond: mean(
        total((point) => point.upBytesPerSecond),
        members.length,
      ),
      downBytesPerSecond: mean(
        total((point) => point.downBytesPerSecond),
        members.length,
      ),
      atRiskBytes: Math.max(...members.map((point) => point.atRiskBytes)),
      lossMs: Math.max(...members.map((point) => point.lossMs)),
      rttMs: rttCount === 0 ? null : total((point) => point.rttSum) / rttCount,
    };
  });
}
