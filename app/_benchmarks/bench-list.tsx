"use client";
import { useQuery } from "@tanstack/react-query";
import type { BenchRow } from "#protocol/benchmarks/views.ts";
import { Age } from "../_hub/live/age.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { FailedCell } from "../_ui/tables/failed-cell.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Cell, Row, RowLink, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { benchmarksQuery } from "./bench-queries.ts";
import { BENCH_TONES, shareDone } from "./bench-words.ts";

const COLUMNS: readonly Column[] = [
  { key: "name", head: "Benchmark" },
  { key: "nodes", head: "Nodes", align: "right", from: "md" },
  { key: "buckets", head: "Buckets", align: "right", from: "md" },
  { key: "cases", head: "Cases", align: "right", from: "sm" },
  { key: "failed", head: "Failed", align: "right", from: "sm" },
  { key: "state", head: "State", align: "right" },
];

/** Lists all benchmarks, newest first. */
export function BenchList() {
  const query = useQuery(benchmarksQuery());
  const rows = query.data;
  return (
    <Panel title="Benchmarks" label="Benchmarks">
      {rows === undefined && query.isError ? (
        <QueryFault query={query} />
      ) : rows === undefined ? (
        <SkeletonRows rows={3} label="Loading benchmarks" />
      ) : rows.length === 0 ? (
        <Empty title="No benchmark yet">
          In a benchmark many nodes move the same bytes with several tools to several buckets. It shows the best tool
          and bucket for each place.
        </Empty>
      ) : (
        <Table label="Benchmarks" columns={COLUMNS}>
          {rows.map((row) => (
            <BenchLine key={row.id} row={row} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

function BenchLine({ row }: { row: BenchRow }) {
  const isRunning = row.state === "running";
  return (
    <Row>
      <Cell className="w-full max-w-0 sm:w-[40%]">
        <TwoLines
          first={<RowLink href={`/benchmarks/${row.id}`}>{visibleText(row.name)}</RowLink>}
          second={
            <>
              <Age at={row.startedAt} />, {visibleText(row.actor)}
            </>
          }
        />
      </Cell>
      <CountCell from="md" count={row.nodes} />
      <CountCell from="md" count={row.buckets} />
      <CountCell from="sm" count={row.casesDone} />
      <FailedCell from="sm" failed={row.casesFailed} />
      <Cell align="right">
        <Tag tone={BENCH_TONES[row.state]}>
          {isRunning ? `running, ${Math.floor(shareDone(row) * 100)} %` : row.state}
        </Tag>
      </Cell>
    </Row>
  );
}
