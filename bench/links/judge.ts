import type { BenchView } from "#protocol/benchmarks/views.ts";
import { compareRates, compareRtts, type RawRun, TOLERANCE } from "./compare-rates.ts";
import { countFailures } from "./count-failures.ts";
import { type EmulatedNode, STORES } from "./emulated-fleet.ts";
import { readExport } from "./exported-cases.ts";
import { rankEngines, standingOf } from "./rank-engines.ts";
import { recount } from "./recount.ts";
import type { LinksResult, Measured } from "./result.ts";
import { type Benchmarked, type BenchmarkPlan, FAILING_STORE, failedKind } from "./run-benchmark.ts";

/** Compares what a benchmark reported with what is known independently. */
export function judge(
  benchmarked: Benchmarked,
  about: { plan: BenchmarkPlan; fleet: readonly EmulatedNode[]; raw: readonly RawRun[] },
): Measured {
  const { view, csv, log, killed, seconds, movingSeconds, cpu } = benchmarked;
  const { plan, raw } = about;
  const { bytes, partBytes, connections, perBucket, seed } = plan;
  const fleet = about.fleet.map(({ name, region, links }) => ({ name, region, links }));
  const rows = readExport(csv);
  const isLossy = ({ links }: EmulatedNode): boolean => STORES.some((store) => links[store].lossPercent > 0);
  const lossyNodes = new Set(fleet.filter(isLossy).map(({ name }) => name));
  const requests = log.flatMap((one) => {
    const kind = failedKind(one);
    return kind === null ? [] : [{ atMs: one.atMs, key: one.key, kind }];
  });
  const turnsOfKilled = view.turnList.filter(({ nodeName }) => nodeName === killed?.node);
  const endings = Map.groupBy(turnsOfKilled, ({ state, fault }) => fault?.code ?? state);
  return {
    fleet,
    engines: view.turnList.find(({ engines }) => engines.length > 0)?.engines ?? [],
    bytes,
    partBytes,
    connections,
    perBucket,
    seed,
    seconds,
    movingSeconds,
    cpu,
    raw: [...raw],
    rates: compareRates(rows, { fleet, raw, bytes }),
    rtts: compareRtts(rows, fleet),
    recounted: recount(rows, view),
    rankings: rankEngines(rows, lossyNodes),
    summary: view.summary.engines.map(({ engine, direction, cases, failed, meanBytesPerSecond, bestShare }) => ({
      engine,
      direction,
      cases,
      failed,
      meanMbit: meanBytesPerSecond === null ? null : (meanBytesPerSecond * 8) / 1e6,
      bestShare,
    })),
    failingStore: {
      store: FAILING_STORE,
      requests: log.filter(({ operation, key }) => isPart(operation, key)).length,
      failedRequests: requests.length,
      counts: countFailures(rows, { store: FAILING_STORE, requests, turns: view.turnList }),
      failedElsewhere: rows.filter((row) => row.store !== FAILING_STORE && row.bytesPerSecond === null).length,
    },
    killed:
      killed === null
        ? null
        : {
            ...killed,
            casesKept: rows.filter(({ node }) => node === killed.node).length,
            casesPlanned: STORES.length * plan.engines.length * 2,
            turns: Object.fromEntries([...endings].map(([ending, turns]) => [ending, turns.length])),
          },
    turns: turnCounts(view),
    cases: { done: view.casesDone, failed: view.casesFailed },
  };
}

/** Returns whether the store's failure rules apply to a request: a part of an engine's upload, or a download. */
const isPart = (operation: string, key: string): boolean =>
  operation === "GetObject" || ((operation === "UploadPart" || operation === "PutObject") && key.endsWith("-1"));

const turnCounts = ({ turns, turnList }: BenchView): Measured["turns"] => ({
  done: turns.done,
  failed: turns.failed,
  all: turnList.length,
  clean: turnList.filter(({ isClean }) => isClean).length,
});

/** Above this CPU usage the engines wait for the CPU and not for their links. */
const BUSY_SHARE = 0.8;

/** Returns the rankings to compare with the guide: its links lost packets, so those of our links with loss, where there are any. */
export function judgedRankings(rankings: Measured["rankings"]): Measured["rankings"] {
  const lossy = rankings.filter(({ links }) => links === "with loss");
  return lossy.length > 0 ? lossy : rankings.filter(({ nodeRegion, links }) => nodeRegion === "" && links === "all");
}

/** Returns what is wrong, as sentences; none when the benchmark reported the truth. */
export function findProblems(result: Pick<LinksResult, keyof Measured | "refused">): string[] {
  const { rates, rtts, recounted, failingStore, killed, turns, rankings, refused } = result;
  const definite = rates.filter(({ lossPercent }) => lossPercent === 0);
  const off = definite.filter(({ agrees }) => !agrees);
  const lossy = rates.filter(({ lossPercent }) => lossPercent > 0).map(({ share }) => share);
  const lossyShare = lossy.reduce((sum, share) => sum + share, 0) / Math.max(1, lossy.length);
  const farRtts = rtts.filter(({ agrees }) => !agrees);
  const wrong = recounted.filter(({ agrees }) => !agrees);
  const withoutCause = failingStore.counts.reduce((sum, one) => sum + one.withoutCause, 0);
  const judged = judgedRankings(rankings);
  const failedTurns =
    turns.failed - (killed === null ? 0 : (killed.turns["INTERRUPTED"] ?? 0) + (killed.turns["EXPIRED"] ?? 0));
  const busy = Math.round(result.cpu.mean * 100);
  return [
    result.cpu.mean > BUSY_SHARE
      ? `the machine's cores were ${busy} % busy, so fast links are told slower than they are: measure again on a quiet one`
      : null,
    refused > 0 ? `the emulators lost ${refused} packets because the machine was too slow` : null,
    off.length > 0 ? `${off.length} of ${definite.length} rates are more than a tenth off` : null,
    lossy.length > 0 && Math.abs(lossyShare - 1) > TOLERANCE
      ? `on links that lose packets the mean is ${(lossyShare * 100).toFixed(1)} % of the truth`
      : null,
    farRtts.length > 0 ? `${farRtts.length} of ${rtts.length} round trips are more than a tenth off` : null,
    wrong.length > 0 ? `${wrong.map(({ what }) => what).join(", ")}: not what the export says` : null,
    failingStore.failedElsewhere > 0
      ? `${failingStore.failedElsewhere} cases failed at a store that failed nothing`
      : null,
    withoutCause > 0 ? `${withoutCause} cases failed though their store failed none of their requests` : null,
    killed !== null && killed.casesKept < killed.casesTold ? "what the killed node had told was lost" : null,
    failedTurns > 0 ? `${failedTurns} turns failed that were not the killed node's` : null,
    turns.clean < turns.all ? `${turns.all - turns.clean} turns left something in their bucket` : null,
    ...judged.map((ranking) => {
      const standing = standingOf(ranking);
      if (standing === "same" || standing === "tied") return null;
      return `${ranking.direction}, the guide's three tools stand in another order than there`;
    }),
  ].filter((problem) => problem !== null);
}
