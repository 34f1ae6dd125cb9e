import type { SamplePoint } from "#protocol/wire/views.ts";
import type { Hub } from "../api/hub.ts";
import { unpackMinute } from "#protocol/history/minute-bytes.ts";
import { MINUTE_MS, shelfOf } from "./stretch.ts";

/** Charts get at most about this many points. */
const MOST_POINTS = 720;
/** Rows per query: a week has ten thousand minutes. */
const READ_AT_ONCE = 720;

const mean = (sum: number, count: number): number => (count === 0 ? 0 : sum / count);

interface Bucket extends Omit<SamplePoint, "rttMs" | "cpuPercent"> {
  rttSum: number;
  rttCount: number;
  cpuSum: number;
  cpuCount: number;
}

/**
 * Returns the chart points of one node, or of the whole fleet (`nodeId` null), oldest first. Long ranges are thinned: points
 * of the same interval are averaged, except that `atRiskBytes` and `lossMs` keep their maximum.
 */
export async function listMinutes(hub: Hub, input: { nodeId: string | null; minutes: number }): Promise<SamplePoint[]> {
  const since = Math.floor(hub.now() / MINUTE_MS) - input.minutes;
  const points = input.nodeId === null ? await ofFleet(hub, since) : await ofNode(hub, input.nodeId, since);
  return thin(points, Math.max(1, Math.ceil(input.minutes / MOST_POINTS)) * MINUTE_MS);
}

async function ofFleet(hub: Hub, since: number): Promise<Bucket[]> {
  const points: Bucket[] = [];
  for (let from = since; ;) {
    const where = { minute: { gte: from } };
    const rows = await hub.db.fleetMinute.findMany({ where, orderBy: { minute: "asc" }, take: READ_AT_ONCE });
    for (const { minute, rttSumMs, rttCount, ...rest } of rows)
      points.push({ at: minute * MINUTE_MS, rttSum: rttSumMs, rttCount, cpuSum: 0, cpuCount: 0, ...rest });
    const last = rows.at(-1);
    if (last === undefined || rows.length < READ_AT_ONCE) return points;
    from = last.minute + 1;
  }
}

/** Reads one node's points. A node has several series if its place changed, but only one entry per minute. */
async function ofNode(hub: Hub, nodeId: string, since: number): Promise<Bucket[]> {
  await hub.history.places.refresh();
  const number = hub.history.places.numberOf(nodeId);
  if (number === null) return [];
  const series = await hub.db.historySeries.findMany({ where: { node: number }, select: { id: true } });
  const own = new Set(series.map(({ id }) => id));
  const points: Bucket[] = [];
  const shelf = shelfOf(number);
  for (let from = since; ;) {
    const where = { shelf, minute: { gte: from } };
    const rows = await hub.db.historyMinute.findMany({ where, orderBy: { minute: "asc" }, take: READ_AT_ONCE });
    for (const { minute, body } of rows) {
      for (const entry of unpackMinute(body)) {
        if (!own.has(entry.series)) continue;
        const { up, down, atRiskBytes, lossMs, rttMs, cpuPercent } = entry;
        const rate = { upBytesPerSecond: up, downBytesPerSecond: down, atRiskBytes, lossMs };
        const rtt = { rttSum: rttMs ?? 0, rttCount: rttMs === null ? 0 : 1 };
        const cpu = { cpuSum: cpuPercent ?? 0, cpuCount: cpuPercent === null ? 0 : 1 };
        points.push({ at: minute * MINUTE_MS, ...rate, ...rtt, ...cpu });
      }
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < READ_AT_ONCE) return points;
    from = last.minute + 1;
  }
}

function thin(points: readonly Bucket[], stretchMs: number): SamplePoint[] {
  const stretches = Map.groupBy(points, ({ at }) => Math.floor(at / stretchMs) * stretchMs);
  return [...stretches].map(([at, members]) => {
    const total = (pick: (point: Bucket) => number) => members.reduce((sum, point) => sum + pick(point), 0);
    const rttCount = total((point) => point.rttCount);
    const cpuCount = total((point) => point.cpuCount);
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
      cpuPercent: cpuCount === 0 ? null : total((point) => point.cpuSum) / cpuCount,
    };
  });
}
