"use client";
import type { BenchView } from "#protocol/benchmarks/views.ts";
import { useRateOrDash } from "../_hub/preferences/choices.ts";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { rttWords } from "./bench-words.ts";

const COLUMNS: readonly Column[] = [
  { key: "pair", head: "From nodes, to buckets" },
  { key: "rtt", head: "RTT", align: "right", from: "sm" },
  { key: "up", head: "Mean up", align: "right" },
  { key: "down", head: "Mean down", align: "right", edge: "narrow" },
  { key: "links", head: "Links", align: "right", from: "sm" },
];

const nameOf = (region: string): string => (region === "" ? "unknown" : visibleText(region));

/** Shows round trip and throughput for each pair of node region and bucket region, nearest first. */
export function RegionPanel({ bench }: { bench: BenchView }) {
  const show = useRateOrDash();
  return (
    <Panel title="Regions" note="round trip and throughput" label="Regions">
      <Table label="Regions" columns={COLUMNS}>
        {bench.regions.map((pair) => (
          <Row key={`${pair.nodeRegion} ${pair.storeRegion}`}>
            <Cell className="w-full max-w-0 sm:w-[40%]">
              <TwoLines
                first={nameOf(pair.nodeRegion)}
                second={
                  <>
                    to {nameOf(pair.storeRegion)}
                    <span className="sm:hidden">, {rttWords(pair.rttMs)}</span>
                  </>
                }
              />
            </Cell>
            <Cell from="sm" align="right">
              {rttWords(pair.rttMs)}
            </Cell>
            <Cell align="right">{show(pair.up)}</Cell>
            <Cell align="right" className="max-sm:pr-4">
              {show(pair.down)}
            </Cell>
            <CountCell from="sm" className="text-soft" count={pair.turns} />
          </Row>
        ))}
      </Table>
    </Panel>
  );
}
