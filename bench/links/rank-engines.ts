import type { BenchDirection, EngineName } from "#protocol/benchmarks/engines.ts";
import type { ExportedCase } from "./exported-cases.ts";

/** Compares the guide's ranking of its three tools with ours, by distance and over all links. */

/** The guide's columns Rclone, Python and TypeScript, slowest first; the order is the same in both directions. */
export const GUIDE_TOOLS = ["rclone", "boto3", "sdk"] as const satisfies readonly EngineName[];
/** "Average Upload Throughput" and "Average Download Throughput" of the guide, Mbit/s. */
export const GUIDE_MEANS: Readonly<Record<BenchDirection, Readonly<Record<(typeof GUIDE_TOOLS)[number], number>>>> = {
  up: { rclone: 157.42, boto3: 197.01, sdk: 207.95 },
  down: { rclone: 295.21, boto3: 357.64, sdk: 397.98 },
};

export interface Ranking {
  /** Empty for a ranking over all regions. */
  nodeRegion: string;
  storeRegion: string;
  links: "all" | "without loss" | "with loss";
  direction: BenchDirection;
  /** Mean of each engine's successful cases, best first. */
  means: { engine: EngineName; mbit: number }[];
  /** The guide's tools, as far as they were measured, slowest first. */
  order: EngineName[];
}

/** Two means within this share of each other are tied: the next run may reverse their order. */
export const TIE_SHARE = 0.02;

/** How the order of the guide's three tools compares with the guide's; `tied`: only tools with tied means are swapped. */
export type Standing = "same" | "tied" | "slowest is" | "another";

export function standingOf({ means, order }: Pick<Ranking, "means" | "order">): Standing {
  const mbitOf = (tool: EngineName): number => means.find(({ engine }) => engine === tool)?.mbit ?? 0;
  const asGuide = GUIDE_TOOLS.filter((tool) => order.includes(tool));
  if (order.join() === asGuide.join()) return "same";
  const isReversed = asGuide.some((slow, at) =>
    asGuide.slice(at + 1).some((fast) => mbitOf(fast) < mbitOf(slow) * (1 - TIE_SHARE)),
  );
  if (!isReversed) return "tied";
  return order[0] === asGuide[0] ? "slowest is" : "another";
}

const WAYS: readonly BenchDirection[] = ["up", "down"];

/** Returns rankings over all links, over links without and with loss, and for each distance. */
export function rankEngines(rows: readonly ExportedCase[], lossyNodes: ReadonlySet<string>): Ranking[] {
  const distances = Map.groupBy(rows, ({ nodeRegion, storeRegion }) => JSON.stringify([nodeRegion, storeRegion]));
  const near = [...distances.values()].toSorted((a, b) => rttOf(a) - rttOf(b));
  const everywhere = { nodeRegion: "", storeRegion: "" };
  const groups: (Pick<Ranking, "nodeRegion" | "storeRegion" | "links"> & { rows: readonly ExportedCase[] })[] = [
    { ...everywhere, links: "all", rows },
    { ...everywhere, links: "without loss", rows: rows.filter(({ node }) => !lossyNodes.has(node)) },
    { ...everywhere, links: "with loss", rows: rows.filter(({ node }) => lossyNodes.has(node)) },
    ...near.map((own) => ({
      nodeRegion: own[0]?.nodeRegion ?? "",
      storeRegion: own[0]?.storeRegion ?? "",
      links: "all" as const,
      rows: own,
    })),
  ];
  return groups
    .filter(({ rows: own }) => own.length > 0)
    .flatMap(({ rows: own, ...which }) =>
      WAYS.map((direction) => ({ ...which, direction, ...rankOf(own, direction) })),
    );
}

const rttOf = (rows: readonly ExportedCase[]): number =>
  rows.reduce((sum, { rttMs }) => sum + (rttMs ?? 0), 0) / Math.max(1, rows.length);

function rankOf(rows: readonly ExportedCase[], direction: BenchDirection): Pick<Ranking, "means" | "order"> {
  const moved = rows.filter((row) => row.direction === direction && row.bytesPerSecond !== null);
  const means = [...Map.groupBy(moved, ({ engine }) => engine)]
    .map(([engine, own]) => ({
      engine,
      mbit: own.reduce((sum, { bytesPerSecond }) => sum + ((bytesPerSecond ?? 0) * 8) / 1e6, 0) / own.length,
    }))
    .toSorted((a, b) => b.mbit - a.mbit);
  const isGuideTool = (engine: EngineName): boolean => GUIDE_TOOLS.some((tool) => tool === engine);
  const order = means
    .map(({ engine }) => engine)
    .filter(isGuideTool)
    .toReversed();
  return { means, order };
}
