import { ENGINES, type BenchDirection, type EngineName } from "#protocol/benchmarks/engines.ts";
import { measuredWith } from "../report/measured-with.ts";
import { STORE_ROUND_TRIPS } from "./compare-rates.ts";
import { GUIDE_PAIRS, REGIONS, STORES } from "./emulated-fleet.ts";
import { findProblems, judgedRankings } from "./judge.ts";
import { GUIDE_MEANS, GUIDE_TOOLS, type Standing, standingOf, TIE_SHARE } from "./rank-engines.ts";
import { percentile } from "./recount.ts";
import type { LinksResult } from "./result.ts";

/** Writes the page of the results of `links`. */

/** From this rate on, the start of a program takes a tenth of a case on a busy machine. */
const FAST_MBIT = 30;
const WAYS: readonly BenchDirection[] = ["up", "down"];
const STANDINGS: Readonly<Record<Standing, string>> = {
  same: "the same",
  tied: "the same, two side by side",
  "slowest is": "the slowest is",
  another: "another",
};
const number = (value: number | null, digits = 1): string => (value === null ? "-" : value.toFixed(digits));
const percent = (value: number | null, digits = 1): string =>
  value === null ? "-" : `${(value * 100).toFixed(digits)} %`;
const minutes = (seconds: number): string => `${Math.round(seconds / 60)} min`;
const title = (engine: EngineName): string => ENGINES[engine].title;
const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, index) => (index === 0 ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

export function linksPage(result: LinksResult): string {
  const parts = [
    introduction(result),
    verdict(result),
    "## By distance",
    distances(result),
    "## Ranking of the engines",
    ranking(result),
    "## A store that fails, and a node that is killed",
    failures(result),
    "## Every link",
    links(result),
    measuredWith(result, { hasLink: true, beside: ["the project's own store", `seed ${result.seed}`] }),
  ];
  return `${parts.join("\n\n")}\n`;
}

function introduction(result: LinksResult): string {
  const { fleet, bytes, partBytes, connections, engines, perBucket } = result;
  const names = engines.map(({ engine, version, missing }) => `${title(engine)} (${version ?? missing ?? "?"})`);
  return `# The fleet benchmark beside the truth

Made by \`npm run bench -- links\` from \`bench/results/links.json\`; do not edit.

Whether a benchmark of the fleet tells the truth is seen where the truth is known: ${fleet.length} real workers, each in a
network namespace of its own, three stores at different distances, and between each worker and each store an emulated link
of its own (\`e2e/link/wan.c\`: real TCP through delay, rates, a bounded queue and loss). Round trips and mean rates are those
of the SaladCloud guide's table, the rates a tenth of it; its table has no line for buckets in US West, so those are ours.
The hub stands in us-east behind the same links. The benchmark is started through the hub's API: ${names.join(", ")}, both
ways, ${bytes / 1e6} MB in parts of ${(partBytes / 1e6).toFixed(1)} MB, ${connections} at a time, ${perBucket} turns side by side in each bucket.

**The truth** of a link is plain TCP: the same bytes over ${connections} fresh connections through the same emulated link with
nothing on top, the faster of a run before and a run after the benchmark, and the round trips that S3 asks for besides: ${STORE_ROUND_TRIPS.up} up (to
connect and begin the upload before a part can go, and to complete it), ${STORE_ROUND_TRIPS.down} down (to connect and ask for the length). So
slow start, queue and loss are in it. Told is the best case of the four engines, as the guide takes it. "Of the link" is the
same rate by what the link's contract leaves to data (0.965 of it) if it were full from the first moment to the last.`;
}

function verdict(result: LinksResult): string {
  const { rates, rtts, recounted, cpu, movingSeconds, seconds, cases, turns, refused } = result;
  const judged = judgedRankings(result.rankings);
  const definite = rates.filter(({ lossPercent }) => lossPercent === 0);
  const lossy = rates.filter(({ lossPercent }) => lossPercent > 0);
  const sharesOf = (rows: readonly { share: number }[]): number[] => rows.map(({ share }) => share);
  const agreeing = (rows: readonly { agrees: boolean }[]): string =>
    `${rows.filter(({ agrees }) => agrees).length} of ${rows.length}`;
  const problems = findProblems(result);
  const facts = [
    `Rates within 10 % of the truth, links that lose nothing: **${agreeing(definite)}** (${percent(Math.min(...sharesOf(definite)))} to ${percent(Math.max(...sharesOf(definite)))} of it, P50 ${percent(percentile(sharesOf(definite), 50))}).`,
    `Of those, links below ${FAST_MBIT} Mbit/s: **${agreeing(definite.filter(({ linkMbit }) => linkMbit < FAST_MBIT))}**; faster ones, where a case takes a few seconds and a program's start counts: **${agreeing(definite.filter(({ linkMbit }) => linkMbit >= FAST_MBIT))}**.`,
    ...(lossy.length === 0
      ? []
      : [
          `Links that lose packets, where which packet is lost makes a single transfer partly chance: **${percent(mean(sharesOf(lossy)))}** of the truth in the mean, ${agreeing(lossy)} within 10 %.`,
        ]),
    `Round trips within 10 % (or 5 ms): **${agreeing(rtts)}**.`,
    `Means, percentiles, shares and counts of the page, made again from the exported CSV by other code: **${agreeing(recounted)}** are the same.`,
    `The guide's ranking of its three tools, on ${judged[0]?.links === "with loss" ? "links that lose packets as its links did" : "all links"}: ${judged.map((one) => `${one.direction} ${one.order.map(title).join(" < ")}, **${STANDINGS[standingOf(one)]}**`).join("; ")}. Two whose means are less than ${percent(TIE_SHARE, 0)} apart stand side by side.`,
    `${cases.done} cases, ${cases.failed} of them failed; ${turns.done} of ${turns.all} turns done, ${turns.failed} failed; ${turns.clean} left their bucket clean.`,
    `Bytes moved for ${minutes(movingSeconds)} of ${minutes(seconds)}; the rest is the hub waiting for the node that was killed. The machine's cores were ${percent(cpu.mean, 0)} busy meanwhile (P90 ${percent(cpu.p90, 0)}); the emulators had to refuse ${refused} packets.`,
  ];
  const conclusion = problems.length === 0 ? ["Nothing is off."] : problems.map((problem) => `**Off**: ${problem}.`);
  return [...facts, ...conclusion].map((fact) => `* ${fact}`).join("\n");
}

/** Returns the table by distance: rates of the links, of plain TCP, and as the benchmark reported them. */
function distances({ rates, fleet }: LinksResult): string {
  const rows = REGIONS.flatMap((region) =>
    STORES.flatMap((store) => {
      const nodes = new Set(fleet.filter((node) => node.region === region).map(({ name }) => name));
      const own = rates.filter((row) => row.store === store && nodes.has(row.node));
      if (own.length === 0) return [];
      const guide = GUIDE_PAIRS[region][store];
      const cells = WAYS.flatMap((way) => {
        const ways = own.filter(({ direction }) => direction === way);
        const [link, truth, told] = [
          mean(ways.map(({ linkMbit }) => linkMbit)),
          mean(ways.map(({ truthMbit }) => truthMbit)),
          mean(ways.map(({ toldMbit }) => toldMbit)),
        ];
        return [
          number(link),
          number(truth),
          number(told),
          percent(told === null || truth === null ? null : told / truth),
        ];
      });
      const of = guide.source === "guide" ? `${guide.rttMs}; ${guide.upMbit} / ${guide.downMbit}` : "-";
      return [[`${region} to ${store}`, String(nodes.size), of, number(mean(own.map(({ rttMs }) => rttMs))), ...cells]];
    }),
  );
  const ways = WAYS.flatMap((way) => [`link ${way}`, "truth", "told", "share"]);
  return `Mean of the nodes, Mbit/s; the guide's round trip in ms and rates beside.\n\n${table(["Nodes to store", "nodes", "guide", "RTT ms", ...ways], rows)}`;
}

function ranking({ rankings, summary }: LinksResult): string {
  const engines = [...new Set(summary.map(({ engine }) => engine))];
  const guide = GUIDE_TOOLS.map(
    (tool) => `${title(tool)} ${GUIDE_MEANS.up[tool]} up and ${GUIDE_MEANS.down[tool]} down`,
  );
  const rows = rankings.map((ranking) => {
    const { nodeRegion, storeRegion, links, direction, means, order } = ranking;
    return [
      nodeRegion === "" ? `**${links}, ${direction}**` : `${nodeRegion} to ${storeRegion}, ${direction}`,
      ...engines.map((engine) => number(means.find((one) => one.engine === engine)?.mbit ?? null)),
      order.map(title).join(" < "),
      STANDINGS[standingOf(ranking)],
    ];
  });
  const shares = engines.map((engine) => {
    const own = WAYS.map((way) => summary.find((one) => one.engine === engine && one.direction === way));
    return [title(engine), ...own.flatMap((one) => [number(one?.meanMbit ?? null), percent(one?.bestShare ?? null)])];
  });
  const head = ["Mean Mbit/s", ...engines.map(title), "order of the guide's three tools", "as in the guide"];
  return [
    "What separates the guide's tools is how many connections they open: of a file of this size rclone, run as there, makes one stream, which fills a link that loses nothing and not one that does. The internet loses packets, so the links that do are held against the guide; those that lose nothing are here to have a certain truth, and on them one stream that asks for little is as good as any.",
    `The guide's averages, Mbit/s: ${guide.join("; ")}. Its TypeScript column is lib-storage and ranged GETs, as "${title("sdk")}" here.`,
    table(head, rows),
    table(["Engine", "mean up", "nodes at their best up", "mean down", "nodes at their best down"], shares),
  ].join("\n\n");
}

function failures({ failingStore, killed }: LinksResult): string {
  const { store, requests, failedRequests, counts, failedElsewhere } = failingStore;
  const rows = counts.map(({ engine, direction, cases, failed, met, survived, temporary, final, withoutCause }) => [
    `${title(engine)}, ${direction}`,
    ...[cases, temporary, final, met, survived, failed].map(String),
    percent(cases === 0 ? null : failed / cases),
    String(withoutCause),
  ]);
  const head = [
    "Engine",
    "cases",
    "503s",
    "403s",
    "cases that met one",
    "came through",
    "failed",
    "rate",
    "without cause",
  ];
  const away =
    killed === null
      ? "No node was killed."
      : `${killed.node} and all its processes were killed after ${killed.afterSeconds.toFixed(0)} s, while it measured ${killed.store}, and did not come back. It had reported ${killed.casesTold} of its ${killed.casesPlanned} cases; the tables have ${killed.casesKept} of them. Cases that it did not report count neither as measured nor as failed. Its turns ended as ${Object.entries(
          killed.turns,
        )
          .map(([ending, turns]) => `${ending} (${turns})`)
          .join(
            ", ",
          )}.${killed.turns["cancelled"] === undefined ? "" : " Its turns that had not begun were cancelled by hand when all others had ended; the hub would have ended them ten minutes later."}`;
  return [
    `${store} fails 2 of 100 requests for parts: half with 503 SlowDown, half with 403 AccessDenied. It received ${requests} such requests and failed ${failedRequests}. No case is repeated, as in the guide; an engine may retry requests by itself. "Without cause" counts failed cases in which the store failed no request. At the other two stores ${failedElsewhere} cases failed.`,
    table(head, rows),
    away,
  ].join("\n\n");
}

function links({ rates, rtts }: LinksResult): string {
  const pairs = Map.groupBy(rates, ({ node, store }) => `${node} to ${store}`);
  const rows = [...pairs].map(([name, own]) => {
    const [any] = own;
    const rtt = rtts.find(({ node, store }) => node === any?.node && store === any.store);
    const cells = WAYS.flatMap((way) => {
      const row = own.find(({ direction }) => direction === way);
      if (row === undefined) return ["-", "-", "-", "-", "-"];
      const share = row.agrees ? percent(row.share) : `**${percent(row.share)}**`;
      return [number(row.linkMbit), number(row.truthMbit), number(row.toldMbit), share, percent(row.linkShare, 0)];
    });
    const told = rtt === undefined ? "-" : number(rtt.toldMs);
    return [
      name,
      number(any?.rttMs ?? null),
      told,
      percent(any === undefined ? null : any.lossPercent / 100, 2),
      ...cells,
    ];
  });
  const ways = WAYS.flatMap((way) => [`link ${way}`, "truth", "told", "share", "of the link"]);
  return table(["Node to store", "RTT ms", "told", "loss", ...ways], rows);
}
