import { addRisks } from "#protocol/risk.ts";
import type { SamplePoint } from "#protocol/views.ts";
import type { Prisma } from "#prisma/client/client.ts";
import type { Hub } from "../hub.ts";
import { risksOf, take } from "./live-node.ts";

const MINUTE_MS = 60_000;
/** Charts get at most about this many points. */
const MOST_POINTS = 720;
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
    for (const one of data) {
      const where = { nodeId_at: { nodeId: one.nodeId, at } };
      await tx.sample.upsert({ where, create: one, update: one });
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
  const rows = await hub.db.sample.findMany({
    where: { at: { gte: new Date(since) }, ...(input.nodeId === null ? {} : { nodeId: input.nodeId }) },
    orderBy: { at: "asc" },
  });
  const perMinute = new Map<number, Bucket>();
  for (const row of rows) {
    const at = row.at.getTime();
    const bucket = perMinute.get(at) ?? emptyBucket(at);
    bucket.upBytesPerSecond += row.upBytesPerSecond;
    bucket.downBytesPerSecond += row.downBytesPerSecond;
    bucket.atRiskBytes += Number(row.atRiskBytes);
    bucket.lossMs += Number(row.lossMs);
    if (row.rttMs !== null) {
      bucket.rttSum += row.rttMs;
      bucket.rttCount++;
    }
    perMinute.set(at, bucket);
  }
  return thin([...perMinute.values()], Math.max(1, Math.ceil(input.minutes / MOST_POINTS)) * MINUTE_MS);
}

const emptyBucket = (at: number): Bucket => ({
  at,
  upBytesPerSecond: 0,
  downBytesPerSecond: 0,
  atRiskBytes: 0,
  lossMs: 0,
  rttMs: null,
  rttSum: 0,
  rttCount: 0,
});

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
