"use client";
import { ENGINES } from "#protocol/benchmarks/engines.ts";
import type { EngineSummary, Spread } from "#protocol/benchmarks/summarize.ts";
import type { BenchView } from "#protocol/benchmarks/views.ts";
import { useRate, useRateOrDash } from "../_hub/preferences/choices.ts";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { FailedCell } from "../_ui/tables/failed-cell.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { engineLines, nothingWords, percentWords } from "./bench-words.ts";

const MAXIMA: readonly Column[] = [
  { key: "direction", head: "Maximum of a node" },
  { key: "mean", head: "Mean", align: "right" },
  { key: "p10", head: "P10", align: "right", from: "sm" },
  { key: "p50", head: "P50", align: "right", edge: "narrow" },
  { key: "p90", head: "P90", align: "right", from: "sm" },
  { key: "nodes", head: "Nodes", align: "right", from: "md" },
];
const ENGINE_COLUMNS: readonly Column[] = [
  { key: "engine", head: "Engine" },
  { key: "up", head: "Mean up", align: "right" },
  { key: "bestUp", head: "Best up", align: "right", from: "md" },
  { key: "down", head: "Mean down", align: "right", edge: "narrow" },
  { key: "bestDown", head: "Best down", align: "right", from: "md" },
  { key: "failed", head: "Failed", align: "right", from: "sm" },
];

/** Class of the first column of both tables, so that their columns align. */
const FIRST = "w-full max-w-0 sm:w-[34%]";

/** Shows the tables of the SaladCloud guide: the maximum of each node, and what each engine reaches of it. */
export function EnginePanel({ bench }: { bench: BenchView }) {
  const { summary, overall } = bench;
  const lines = engineLines(summary);
  const show = useRateOrDash();
  const failed = overall.up.failed + overall.down.failed;
  const cases = overall.up.cases + overall.down.cases;
  return (
    <Panel title="Throughput" note="payload, as the engine saw it" label="Throughput">
      {cases === 0 ? (
        <p className="px-4 py-6 text-soft">{nothingWords(bench)}</p>
      ) : (
        <>
          <Table label="Maximum of each node" columns={MAXIMA}>
            <Maximum label="Up" spread={summary.maxima.up} />
            <Maximum label="Down" spread={summary.maxima.down} />
          </Table>
          <div className="border-t border-line">
            <Table label="Engines" columns={ENGINE_COLUMNS}>
              {lines.map(({ engine, up, down, cases: all, failed: some }) => (
                <Row key={engine}>
                  <Cell className={FIRST}>
                    <div className="truncate font-mid">{ENGINES[engine].title}</div>
                  </Cell>
                  <Cell align="right">{show(up?.meanBytesPerSecond)}</Cell>
                  <Share summary={up} />
                  <Cell align="right" className="max-sm:pr-4">
                    {show(down?.meanBytesPerSecond)}
                  </Cell>
                  <Share summary={down} />
                  <FailedCell failed={some} share={some / all} from="sm" />
                </Row>
              ))}
              <Row>
                <Cell className="text-soft">All</Cell>
                <Cell align="right">{show(overall.up.mean)}</Cell>
                <Cell from="md" align="right" />
                <Cell align="right" className="max-sm:pr-4">
                  {show(overall.down.mean)}
                </Cell>
                <Cell from="md" align="right" />
                <FailedCell failed={failed} share={failed / cases} from="sm" />
              </Row>
            </Table>
          </div>
        </>
      )}
      <p className="border-t border-line px-4 py-3 text-12 text-soft">
        A rate is the payload by the time it took: of a command from its start, of a library (Tidemark, AWS SDK, boto3,
        CRT) from when it was loaded, until its process had ended. A case that failed has none and is counted as failed;
        each engine tried again what it tries again by itself. <i>Best</i> is the share of nodes whose fastest case was
        this engine&apos;s. Percentiles are interpolated between ranks. Downloads were compared by SHA-256, uploads by
        their length.
      </p>
    </Panel>
  );
}

function Maximum({ label, spread }: { label: string; spread: Spread | null }) {
  const rate = useRate();
  if (spread === null) return null;
  return (
    <Row>
      <Cell className={FIRST}>{label}</Cell>
      <Cell align="right">{rate(spread.mean)}</Cell>
      <Cell from="sm" align="right">
        {rate(spread.p10)}
      </Cell>
      <Cell align="right" className="font-mid max-sm:pr-4">
        {rate(spread.p50)}
      </Cell>
      <Cell from="sm" align="right">
        {rate(spread.p90)}
      </Cell>
      <CountCell from="md" className="text-soft" count={spread.count} />
    </Row>
  );
}

function Share({ summary }: { summary: EngineSummary | null }) {
  return (
    <Cell from="md" align="right" className="text-soft">
      {percentWords(summary?.bestShare ?? null)}
    </Cell>
  );
}
