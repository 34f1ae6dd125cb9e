import { formatBytes } from "#protocol/base/units.ts";
import { DIRECTIONS, type Direction } from "../cases.ts";
import { measuredWith } from "../report/measured-with.ts";
import { median } from "../report/summarize.ts";
import type { FirstByteResult, FirstByteRun } from "./result.ts";

/** Writes the page of the results of `first-byte`. */

interface Row {
  title: string;
  isOwn: boolean;
  good: readonly FirstByteRun[];
  failures: number;
  /** Medians; null when no run succeeded. */
  firstPacketMs: number | null;
  firstByteMs: number | null;
}

type Which = Pick<FirstByteRun, "direction" | "bytes">;

function rowsOf(result: FirstByteResult, { direction, bytes }: Which): Row[] {
  return result.tools.flatMap(({ name, title, role }) => {
    const runs = result.runs.filter((run) => run.tool === name && run.direction === direction && run.bytes === bytes);
    if (runs.length === 0) return [];
    const good = runs.filter(({ failure }) => failure === null);
    return {
      title,
      isOwn: role === "own",
      good,
      failures: runs.length - good.length,
      firstPacketMs: median(good.flatMap((run) => run.firstPacketMs ?? [])),
      firstByteMs: median(good.flatMap((run) => run.firstByteMs ?? [])),
    };
  });
}

/** Returns the rank of Tidemark by the medians; 1 is first. Null where Tidemark or all other tools have no median. */
export function placeOf(result: FirstByteResult, which: Which): number | null {
  const rows = rowsOf(result, which).filter(({ firstByteMs }) => firstByteMs !== null);
  const own = rows.find(({ isOwn }) => isOwn)?.firstByteMs ?? null;
  if (own === null || rows.length < 2) return null;
  return 1 + rows.filter(({ isOwn, firstByteMs }) => !isOwn && (firstByteMs ?? Infinity) < own).length;
}

const ms = (value: number | null): string => (value === null ? "-" : value.toFixed(0));

function lineOf({ title, good, failures, firstPacketMs, firstByteMs }: Row): string {
  const all = good.flatMap((run) => run.firstByteMs ?? []);
  const spread = all.length === 0 ? "" : ` (${ms(Math.min(...all))} to ${ms(Math.max(...all))})`;
  const waits = [...new Set(good.map(({ before }) => before.join(", ")))].join("; or ");
  return `| ${title} | ${ms(firstByteMs)}${spread} | ${ms(firstPacketMs)} | ${waits} | ${failures} of ${failures + good.length} |`;
}

const TITLES: Record<Direction, string> = {
  up: "Upload: the first byte of the file leaves",
  down: "Download: the first byte of the file is there",
};

function section(result: FirstByteResult, which: Which): string[] {
  const rows = rowsOf(result, which);
  if (rows.length === 0) return [];
  const place = placeOf(result, which);
  return [
    `## ${TITLES[which.direction]}, ${formatBytes(which.bytes)}`,
    "",
    "| Tool | First byte, ms (fastest to slowest) | First packet, ms | What it waited for | Failures |",
    "| --- | ---: | ---: | --- | ---: |",
    ...rows.map(lineOf),
    "",
    ...(place === null ? [] : [`* ${place === 1 ? "met" : "**not met**"}: the first of all tools (${place})`, ""]),
  ];
}

const REAL_TIME = " All of it ran with real-time\npriority, because the machine did other things meanwhile.";

/** Returns the whole page. */
export function firstBytePage(result: FirstByteResult): string {
  const { link, runs, missing, tools, isRealTime } = result;
  const sizes = [...new Set(runs.map(({ bytes }) => bytes))];
  const sections = sizes.flatMap((bytes) => DIRECTIONS.flatMap((direction) => section(result, { direction, bytes })));
  return `# The first byte

Made by \`npm run bench -- first-byte\` from \`bench/results/first-byte.json\`; do not edit.

How long each tool takes from the start of its process to the first byte of the file that the other end can read, over TLS to a store
${link.rttMs} ms away (${link.upMbit} up / ${link.downMbit} down Mbit/s). All tools have their turns in one run. Numbers are medians.

The name of the store is known only to a resolver at the far end, and no tool remembers an earlier run but "store known", so each pays one round
trip of ${link.rttMs} ms for the lookup, one for TCP, one for TLS 1.3, and one for each request that the first byte of the file waits for. A process in front of the
store notes when each of them arrives, by the clock that started the tool; half a round trip is added or taken off to get the moment at the tool.
"First packet" comes first of all packets, mostly the lookup: what is before it is the start of the program. "Store known" begins at the
addresses that the name led to in the run before, over TLS only, while it is looked up ([network](network.md)).${isRealTime ? REAL_TIME : ""}

${sections.join("\n")}
${tools.map(({ title, version }) => `* ${title}: ${version}`).join("\n")}
${Object.entries(missing)
  .map(([name, why]) => `* ${name} was not measured: ${why}\n`)
  .join("")}
${measuredWith(result, { hasLink: true, beside: [result.machine.server] })}
`;
}
