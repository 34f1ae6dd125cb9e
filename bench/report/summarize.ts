import { medianOf } from "#protocol/base/robust.ts";
import { type Bar, type BenchCase, linkRate } from "../cases.ts";
import type { Result, ToolFacts } from "./results.ts";

/** Medians of one tool in one case and direction; null when none of its runs succeeded. */
export interface Summary {
  tool: ToolFacts;
  runs: number;
  failures: string[];
  wallSeconds: number | null;
  /** Extremes of all successful runs. */
  fastestSeconds: number | null;
  slowestSeconds: number | null;
  mbitPerSecond: number | null;
  linkShare: number | null;
  cpuPerGb: number | null;
  peakRssMb: number | null;
}

const GB = 1e9;

export function median(values: readonly number[]): number | null {
  return values.length === 0 ? null : medianOf(values);
}

/** Returns medians by tool over the successful runs, in the order of the tools. Tools that never ran are left out. */
export function summarize(result: Result, benchCase: Pick<BenchCase, "link">): Summary[] {
  const rate = linkRate(benchCase, result.direction);
  return result.tools.flatMap((tool) => {
    const runs = result.runs.filter((run) => run.tool === tool.name);
    if (runs.length === 0) return [];
    const good = runs.filter((run) => run.failure === null);
    const numbers = (read: (run: (typeof good)[number]) => number | null): number[] =>
      good.flatMap((run) => read(run) ?? []);
    const walls = numbers((run) => run.wallSeconds);
    const wallSeconds = median(walls);
    const bits = result.bytes * 8;
    const cpuSeconds = median(numbers((run) => run.cpuSeconds));
    const rssKib = numbers((run) => run.peakRssKib);
    return {
      tool,
      runs: runs.length,
      failures: runs.flatMap((run) => run.failure ?? []),
      wallSeconds,
      fastestSeconds: walls.length === 0 ? null : Math.min(...walls),
      slowestSeconds: walls.length === 0 ? null : Math.max(...walls),
      mbitPerSecond: wallSeconds === null ? null : bits / wallSeconds / 1e6,
      linkShare: wallSeconds === null || rate === null ? null : bits / wallSeconds / rate,
      cpuPerGb: cpuSeconds === null ? null : cpuSeconds / (result.bytes / GB),
      // The maximum of all runs, not the median, because the memory limit is a promise.
      peakRssMb: rssKib.length === 0 ? null : (Math.max(...rssKib) * 1024) / 1e6,
    };
  });
}

/** Tidemark compared with the best peers of the same run; a value is null when either has none. */
export interface Comparison {
  own: Summary;
  fastestPeer: Summary | null;
  thriftiestPeer: Summary | null;
  ceiling: Summary | null;
  /** Own time over the fastest peer's: below 1 is faster. */
  wallRatio: number | null;
  cpuRatio: number | null;
  /** Own throughput over the ceiling's. */
  ceilingShare: number | null;
}

/** Compares Tidemark with its peers; null when Tidemark did not run. */
export function compare(summaries: readonly Summary[]): Comparison | null {
  const own = summaries.find(({ tool }) => tool.name === "tidemark");
  if (own === undefined) return null;
  const peers = summaries.filter(({ tool }) => tool.role === "peer");
  const fastestPeer = least(peers, (peer) => peer.wallSeconds);
  const thriftiestPeer = least(peers, (peer) => peer.cpuPerGb);
  const ceiling = summaries.find(({ tool }) => tool.role === "ceiling") ?? null;
  return {
    own,
    fastestPeer,
    thriftiestPeer,
    ceiling,
    wallRatio: ratio(own.wallSeconds, fastestPeer?.wallSeconds),
    cpuRatio: ratio(own.cpuPerGb, thriftiestPeer?.cpuPerGb),
    ceilingShare: ratio(ceiling?.wallSeconds, own.wallSeconds),
  };
}

function least(summaries: readonly Summary[], read: (summary: Summary) => number | null): Summary | null {
  let best: { summary: Summary; value: number } | null = null;
  for (const summary of summaries) {
    const value = read(summary);
    if (value !== null && (best === null || value < best.value)) best = { summary, value };
  }
  return best?.summary ?? null;
}

const ratio = (a: number | null | undefined, b: number | null | undefined): number | null =>
  a === null || a === undefined || b === null || b === undefined ? null : a / b;

/** One bar and whether it was met; `met` is null when it cannot be judged. */
export interface Judgement {
  bar: string;
  measured: number | null;
  met: boolean | null;
}

/** Share of plain TCP's throughput in the same run that also meets a bar of the link's share. */
const CEILING_SHARE = 0.97;
/** Least runs for `CEILING_SHARE` to count. */
const CEILING_RUNS = 7;

export function judge(comparison: Comparison, bar: Bar): Judgement[] {
  const { own, wallRatio, cpuRatio, ceilingShare } = comparison;
  const atMost = (text: string, measured: number | null, limit: number): Judgement => ({
    bar: `${text} <= ${limit}`,
    measured,
    met: measured === null ? null : measured <= limit,
  });
  const judgements: Judgement[] = [];
  if (bar.linkShare !== undefined) {
    const isAtCeiling = (ceilingShare ?? 0) >= CEILING_SHARE && own.runs >= CEILING_RUNS;
    const met = own.linkShare === null ? null : own.linkShare >= bar.linkShare || isAtCeiling;
    judgements.push({
      bar: `share of the link >= ${bar.linkShare}, or >= ${CEILING_SHARE} of raw TCP in ${CEILING_RUNS} runs`,
      measured: own.linkShare,
      met,
    });
  }
  if (bar.wallOfBestPeer !== undefined) judgements.push(atMost("time / fastest peer", wallRatio, bar.wallOfBestPeer));
  if (bar.cpuOfBestPeer !== undefined) judgements.push(atMost("CPU / thriftiest peer", cpuRatio, bar.cpuOfBestPeer));
  if (bar.cpuPerGb !== undefined) judgements.push(atMost("CPU s per GB", own.cpuPerGb, bar.cpuPerGb));
  if (bar.peakRssMb !== undefined) judgements.push(atMost("peak RSS in MB", own.peakRssMb, bar.peakRssMb));
  return judgements;
}
