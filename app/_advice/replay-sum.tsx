"use client";
import type { ReplaySum } from "#protocol/links/sum-fates.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { useRateOrDash } from "../_hub/preferences/choices.ts";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";

const COLUMNS: readonly Column[] = [
  { key: "what", head: "Of these" },
  { key: "now", head: "As it is", align: "right" },
  { key: "then", head: "With these", align: "right" },
];

interface ReplaySumTableProps {
  now: ReplaySum;
  then: ReplaySum;
}

/** Compares the totals of two replays: with the current thresholds and with other ones. */
export function ReplaySumTable({ now, then }: ReplaySumTableProps) {
  const share = (of: ReplaySum, count: number): string =>
    of.starts === 0 ? "0" : `${formatCount(count)} (${((count * 100) / of.starts).toFixed(1)} %)`;
  const mean = useRateOrDash();
  const lines: readonly (readonly [string, (sum: ReplaySum) => string, "own" | "part"])[] = [
    ["Accepted", (sum) => share(sum, sum.accepted), "own"],
    ["Accepted with a doubt", (sum) => share(sum, sum.warned), "own"],
    ["Rejected", (sum) => share(sum, sum.rejected), "own"],
    ["given back for another machine", (sum) => formatCount(sum.givenBack), "part"],
    ["kept, because the hub refused", (sum) => formatCount(sum.kept), "part"],
    ["ended, where machines are not exchanged", (sum) => formatCount(sum.ended), "part"],
    ["On another machine by then", (sum) => share(sum, sum.away), "own"],
    ["Mean upload of the nodes kept", (sum) => mean(sum.meanUp), "own"],
    ["Mean download of the nodes kept", (sum) => mean(sum.meanDown), "own"],
    ["Most machines left out at once", (sum) => formatCount(sum.mostAway), "own"],
    ["Node time spent on restarts", (sum) => (sum.startMs === 0 ? "none" : formatDuration(sum.startMs)), "own"],
  ];
  return (
    <Table label="Results of the replay" columns={COLUMNS}>
      {lines.map(([label, of, kind]) => (
        <Row key={label}>
          <Cell className={kind === "part" ? "pl-8! text-soft" : ""}>{label}</Cell>
          <Cell align="right" className="text-soft">
            {of(now)}
          </Cell>
          <Cell align="right" className="font-mid">
            {of(then)}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
