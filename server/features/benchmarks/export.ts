import * as z from "zod";
import type { CaseView } from "#protocol/benchmarks/views.ts";
import type { Hub } from "#server/core/api/hub.ts";
import { writeCsv, type CsvColumn } from "#server/core/history/reader/write-csv.ts";
import { mapInSlices } from "#server/platform/pauses.ts";
import { caseView, getBenchmark } from "./read.ts";

export const exportBenchInput = z.object({ id: z.string().max(64), format: z.enum(["csv", "json"]) });

const PAGE = 1_000;

const COLUMNS: readonly CsvColumn<CaseView>[] = [
  ["at", (row) => new Date(row.at).toISOString()],
  ["node", (row) => row.nodeName],
  ["node_region", (row) => row.nodeRegion],
  ["profile", (row) => row.profileName],
  ["bucket_region", (row) => row.storeRegion],
  ["rtt_ms", (row) => row.rttMs],
  ["engine", (row) => row.engine],
  ["direction", (row) => row.direction],
  ["round", (row) => row.round],
  ["bytes", (row) => row.bytes],
  ["took_ms", (row) => row.tookMs],
  ["load_ms", (row) => row.loadMs],
  ["bytes_per_second", (row) => row.bytesPerSecond],
  ["peak_memory_bytes", (row) => row.peakBytes],
  ["fault", (row) => row.fault?.code ?? null],
];

/** Exports every case, one a line; JSON also has the settings and the summary. @throws Fault NOT_FOUND */
export async function exportBenchmark(
  hub: Hub,
  { id, format }: z.infer<typeof exportBenchInput>,
): Promise<{ fileName: string; text: string }> {
  const { name, settings, seed, perBucket, startedAt, endedAt, summary } = await getBenchmark(hub, { id });
  const cases: CaseView[] = [];
  for (let skip = 0; ; skip += PAGE) {
    const rows = await hub.db.benchCase.findMany({
      where: { turn: { benchmarkId: id } },
      include: { turn: true },
      orderBy: [{ turnId: "asc" }, { engine: "asc" }, { direction: "asc" }, { round: "asc" }],
      skip,
      take: PAGE,
    });
    cases.push(...rows.flatMap(caseView));
    if (rows.length < PAGE) break;
  }
  const fileName = `tidemark-benchmark-${new Date(startedAt).toISOString().slice(0, 10)}.${format}`;
  if (format === "csv") return { fileName, text: await writeCsv(COLUMNS, cases) };
  const about = JSON.stringify({ id, name, settings, seed, perBucket, startedAt, endedAt, summary }, null, 2);
  const lines = await mapInSlices(cases, (one) => `    ${JSON.stringify(one)}`);
  return { fileName, text: `${about.slice(0, -"\n}".length)},\n  "cases": [\n${lines.join(",\n")}\n  ]\n}\n` };
}
