import type { BenchDirection } from "#protocol/benchmarks/engines.ts";
import type { BenchView } from "#protocol/benchmarks/views.ts";
import type { ExportedCase } from "./exported-cases.ts";

/**
 * Computes the tables of a benchmark again, from its exported CSV and with other code than the hub's: percentiles by
 * interpolation between ranks, shares by the best engine of each node.
 */

const WAYS: readonly BenchDirection[] = ["up", "down"];
/** Largest relative difference of two rates that are the same: the CSV has all digits. */
const NEAR = 1e-6;

/** A number on the page and the same number computed again. */
export interface Recounted {
  what: string;
  told: number | null;
  counted: number | null;
  agrees: boolean;
}

type Told = Pick<BenchView, "summary" | "overall" | "regions" | "asymmetry" | "casesDone" | "casesFailed">;

export function recount(rows: readonly ExportedCase[], told: Told): Recounted[] {
  const found: Recounted[] = [];
  const compare = (what: string, page: number | null | undefined, counted: number | null): void => {
    found.push({ what, told: page ?? null, counted, agrees: isSame(page ?? null, counted) });
  };
  compare("cases", told.casesDone, rows.length);
  compare("cases that failed", told.casesFailed, rows.filter(hasFailed).length);
  for (const way of WAYS) recountWay(rows, { way, told, compare });
  recountRegions(rows, { told, compare });
  const ratios = [...bestByNode(rows, "down")].flatMap(([node, down]) => {
    const up = bestByNode(rows, "up").get(node);
    return up === undefined ? [] : [down / up];
  });
  compare("asymmetry P50", told.asymmetry?.p50, percentile(ratios, 50));
  return found;
}

interface About {
  told: Told;
  compare: (what: string, page: number | null | undefined, counted: number | null) => void;
}

function recountWay(rows: readonly ExportedCase[], { way, told, compare }: About & { way: BenchDirection }): void {
  const own = rows.filter(({ direction }) => direction === way);
  const best = bestByNode(rows, way);
  const maxima = [...best.values()];
  const page = told.summary.maxima[way];
  compare(`maximum ${way}, nodes`, page?.count ?? 0, maxima.length);
  compare(`maximum ${way}, mean`, page?.mean, meanOf(maxima));
  compare(`maximum ${way}, P10`, page?.p10, percentile(maxima, 10));
  compare(`maximum ${way}, P50`, page?.p50, percentile(maxima, 50));
  compare(`maximum ${way}, P90`, page?.p90, percentile(maxima, 90));
  compare(`all engines ${way}, mean`, told.overall[way].mean, meanOf(ratesOf(own)));
  compare(`all engines ${way}, failed`, told.overall[way].failed, own.filter(hasFailed).length);
  for (const engine of new Set(own.map((row) => row.engine))) {
    const cases = own.filter((row) => row.engine === engine);
    const summary = told.summary.engines.find((one) => one.engine === engine && one.direction === way);
    const wins = [...best].filter(([node, rate]) =>
      cases.some((row) => row.node === node && row.bytesPerSecond === rate),
    ).length;
    compare(`${engine} ${way}, cases`, summary?.cases, cases.length);
    compare(`${engine} ${way}, failed`, summary?.failed, cases.filter(hasFailed).length);
    compare(`${engine} ${way}, mean`, summary?.meanBytesPerSecond, meanOf(ratesOf(cases)));
    compare(`${engine} ${way}, P50`, summary?.p50BytesPerSecond, percentile(ratesOf(cases), 50));
    compare(`${engine} ${way}, share of the best`, summary?.bestShare, best.size === 0 ? null : wins / best.size);
  }
}

function recountRegions(rows: readonly ExportedCase[], { told, compare }: About): void {
  for (const { nodeRegion, storeRegion, up, down } of told.regions) {
    const own = rows.filter((row) => row.nodeRegion === nodeRegion && row.storeRegion === storeRegion);
    for (const [way, page] of [["up", up] as const, ["down", down] as const]) {
      const rates = ratesOf(own.filter(({ direction }) => direction === way));
      compare(`${nodeRegion} to ${storeRegion}, ${way}`, page, meanOf(rates));
    }
  }
}

const hasFailed = ({ bytesPerSecond }: ExportedCase): boolean => bytesPerSecond === null;
const ratesOf = (rows: readonly ExportedCase[]): number[] =>
  rows.flatMap(({ bytesPerSecond }) => (bytesPerSecond === null ? [] : [bytesPerSecond]));

function bestByNode(rows: readonly ExportedCase[], way: BenchDirection): Map<string, number> {
  const best = new Map<string, number>();
  for (const { node, direction, bytesPerSecond } of rows) {
    if (direction === way && bytesPerSecond !== null)
      best.set(node, Math.max(bytesPerSecond, best.get(node) ?? -Infinity));
  }
  return best;
}

const meanOf = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

/** Returns a percentile with linear interpolation between ranks; null for no values. */
export function percentile(values: readonly number[], percent: number): number | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  const hundredths = percent * (sorted.length - 1);
  const [low, rest] = [Math.trunc(hundredths / 100), hundredths % 100];
  const [from = Number.NaN, to = from] = [sorted[low], sorted[low + 1]];
  return (from * (100 - rest) + to * rest) / 100;
}

const isSame = (one: number | null, other: number | null): boolean =>
  one === null || other === null
    ? one === other
    : Math.abs(one - other) <= NEAR * Math.max(1, Math.abs(one), Math.abs(other));
