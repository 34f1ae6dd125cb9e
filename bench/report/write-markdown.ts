import { type BenchCase, CASES, type Direction, DIRECTIONS } from "../cases.ts";
import { measuredWith } from "./measured-with.ts";
import type { Result } from "./results.ts";
import { compare, judge, summarize, type Summary } from "./summarize.ts";

/** Writes the results as Markdown: one table per case and direction, and how they were measured. */

const number = (value: number | null, digits: number): string => (value === null ? "-" : value.toFixed(digits));
const share = (value: number | null): string => (value === null ? "-" : value.toFixed(3));

const DIRECTION_TITLES: Record<Direction, string> = { up: "Upload", down: "Download" };

/** Returns the table of one result, with the bars and whether they were met. */
export function resultTable(result: Result, benchCase: BenchCase): string {
  const summaries = summarize(result, benchCase);
  const hasLink = benchCase.link !== null;
  const hasFiles = benchCase.shape.kind === "folder";
  const columns = [
    "Tool",
    ...(hasLink ? ["Share of link"] : ["Mbit/s"]),
    "Seconds (fastest to slowest)",
    ...(hasFiles ? ["Files/s"] : []),
    "CPU s per GB",
    "Peak RSS MB",
    "In flight: parts x size x files",
    "Failures",
  ];
  const rows = summaries.map((summary) => {
    const { wallSeconds } = summary;
    return [
      summary.tool.title,
      hasLink ? share(summary.linkShare) : number(summary.mbitPerSecond, 0),
      wallSeconds === null
        ? "-"
        : `${number(wallSeconds, 2)} (${number(summary.fastestSeconds, 2)} to ${number(summary.slowestSeconds, 2)})`,
      ...(hasFiles ? [wallSeconds === null ? "-" : number(result.files / wallSeconds, 0)] : []),
      number(summary.cpuPerGb, 2),
      number(summary.peakRssMb, 0),
      heldMemory(summary),
      `${summary.failures.length} of ${summary.runs}`,
    ];
  });
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(columns),
    line(columns.map((_, index) => (index === 0 ? "---" : "---:"))),
    ...rows.map(line),
    "",
    ...verdictLines(result, benchCase),
    ...failureLines(summaries),
  ].join("\n");
}

/** Describes the memory of a tool that keeps whole parts, by what it is configured to have in flight. */
function heldMemory({ tool }: Summary): string {
  if (tool.role === "own") return "connections x 1 MiB, within `--memory`";
  if (tool.inFlight === null) return "-";
  const { parts, partBytes, files } = tool.inFlight;
  const megabytes = (bytes: number): string => `${Number((bytes / 1e6).toFixed(bytes < 1e6 ? 3 : 1))} MB`;
  return `${parts} x ${megabytes(partBytes)} x ${files} = ${megabytes(parts * partBytes * files)}`;
}

function verdictLines(result: Result, benchCase: BenchCase): string[] {
  const comparison = compare(summarize(result, benchCase));
  if (comparison === null) return [];
  const { fastestPeer, thriftiestPeer, wallRatio, cpuRatio, ceilingShare } = comparison;
  const facts = [
    fastestPeer === null || wallRatio === null
      ? null
      : `${number(1 / wallRatio, 2)} times the speed of the fastest peer (${fastestPeer.tool.title})`,
    thriftiestPeer === null || cpuRatio === null
      ? null
      : `${number(cpuRatio, 2)} of the CPU of the thriftiest (${thriftiestPeer.tool.title})`,
    ceilingShare === null ? null : `${number(ceilingShare, 3)} of raw TCP`,
  ].filter((fact) => fact !== null);
  const judgements = judge(comparison, benchCase.bars[result.direction]);
  return [
    ...(facts.length === 0 ? [] : [`Tidemark: ${facts.join(", ")}.`, ""]),
    ...judgements.map(
      ({ bar, measured, met }) =>
        `* ${met === null ? "not judged" : met ? "met" : "**not met**"}: ${bar} (${number(measured, 3)})`,
    ),
    "",
  ];
}

function failureLines(summaries: readonly Summary[]): string[] {
  const lines = summaries.flatMap(({ tool, failures }) =>
    [...new Set(failures)].map((why) => `* ${tool.title} failed: ${why.replaceAll(/\s+/g, " ").slice(0, 200)}`),
  );
  return lines.length === 0 ? [] : [...lines, ""];
}

function setupLines(results: readonly Result[]): string[] {
  const tools = new Map(results.flatMap(({ tools }) => tools.map((tool) => [tool.name, tool] as const)));
  const missing = new Map(results.flatMap((result) => Object.entries(result.missing)));
  return [
    "## Tools",
    "",
    "| Tool | Version | Setup |",
    "| --- | --- | --- |",
    ...[...tools.values()].map(({ title, version, setup }) => `| ${title} | ${version} | ${setup} |`),
    "",
    ...[...missing].map(([name, why]) => `* ${name} was not measured: ${why}`),
    ...(missing.size === 0 ? [] : [""]),
  ];
}

const INTRODUCTION = `# Benchmarks

Made by \`npm run bench -- --report\` from the files in \`bench/results/\`; do not edit.

Every tool moves the same random file from and to memory (tmpfs), in turns: each tool once, then each again, so that a
slow minute of the machine meets all of them. Numbers are medians; peak RSS is the highest of all runs. Time runs from the
start of the program to its end. CPU is user and system time of the whole process tree, of the client only. After every
run the bytes that arrived are compared by SHA-256 (an upload is fetched again by another client beside the server); the
bucket is emptied between runs. Downloads fetch what Tidemark stored, so that it has checksums to verify; it verifies them.
The store is a real S3 server with its files in memory. Across a link it stands in a network namespace of its own behind
\`e2e/link/wan.c\`, which applies delay, rate, a bounded queue and loss to real TCP. Rates count IP packets: their
headers alone leave 0.965 of a link to data. "In flight" is what a tool was told to have in flight, as parts x part size x
files: the memory it takes if it holds whole parts. aria2c is given a list of URLs, so it asks the store for none.`;

/** Returns the whole page. */
export function benchmarksPage(results: readonly Result[]): string {
  const lines = [INTRODUCTION, ""];
  for (const benchCase of CASES) {
    const found = DIRECTIONS.flatMap((direction) =>
      results.filter((result) => result.case === benchCase.name && result.direction === direction),
    );
    if (found.length === 0) continue;
    lines.push(`## ${benchCase.title}`, "");
    for (const result of found) {
      lines.push(
        `### ${DIRECTION_TITLES[result.direction]}`,
        "",
        resultTable(result, benchCase),
        measuredWith(result, { hasLink: true, beside: [result.machine.server] }),
        "",
      );
    }
  }
  lines.push(...setupLines(results));
  return `${lines
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trimEnd()}\n`;
}
