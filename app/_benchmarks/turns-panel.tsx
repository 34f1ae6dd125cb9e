"use client";
import { ENGINES } from "#protocol/benchmarks/engines.ts";
import { sentenceOf } from "#protocol/faults/fault.ts";
import type { BenchView, TurnView } from "#protocol/benchmarks/views.ts";
import { formatCount } from "#protocol/base/units.ts";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { rttWords, spanWords, TURN_TONES } from "./bench-words.ts";

const COLUMNS: readonly Column[] = [
  { key: "link", head: "Node and bucket" },
  { key: "rtt", head: "RTT", align: "right", from: "md" },
  { key: "cases", head: "Cases", align: "right", from: "sm" },
  { key: "took", head: "Took", align: "right", from: "lg" },
  { key: "state", head: "State", align: "right" },
];
const SHOWN = 200;
const ORDER = ["running", "failed", "waiting", "done", "cancelled"];

/** Lists each pair of node and bucket: round trip, state, and what was missing or failed. */
export function TurnsPanel({ bench }: { bench: BenchView }) {
  const { turns } = bench;
  const rows = bench.turnList.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state)).slice(0, SHOWN);
  const words = [
    `${formatCount(turns.done)} done`,
    ...(turns.running > 0 ? [`${formatCount(turns.running)} running`] : []),
    ...(turns.waiting > 0 ? [`${formatCount(turns.waiting)} waiting`] : []),
    ...(turns.failed > 0 ? [`${formatCount(turns.failed)} failed`] : []),
    ...(turns.cancelled > 0 ? [`${formatCount(turns.cancelled)} cancelled`] : []),
  ];
  return (
    <Panel title="Links" note={words.join(", ")} label="Links">
      <Table label="Links" columns={COLUMNS}>
        {rows.map((turn) => (
          <TurnLine key={turn.id} turn={turn} />
        ))}
      </Table>
      {bench.turnList.length > SHOWN && (
        <p className="border-t border-line px-4 py-2 text-soft">
          {formatCount(bench.turnList.length - SHOWN)} more are in the export.
        </p>
      )}
    </Panel>
  );
}

function TurnLine({ turn }: { turn: TurnView }) {
  const missing = turn.engines.filter((one) => one.missing !== null);
  const notes = [
    ...(missing.length === 0 ? [] : [`without ${missing.map(({ engine }) => ENGINES[engine].title).join(", ")}`]),
    ...(turn.fault === null ? [] : [visibleText(sentenceOf(turn.fault))]),
    ...(turn.endedAt !== null && !turn.isClean ? ["the bucket is being tidied up"] : []),
  ];
  const tookMs = turn.startedAt === null || turn.endedAt === null ? null : turn.endedAt - turn.startedAt;
  return (
    <Row>
      <Cell className="w-full max-w-0 sm:w-[46%]">
        <TwoLines
          first={
            <>
              <span className="font-mid">{visibleText(turn.nodeName)}</span>{" "}
              <span className="text-soft max-sm:hidden">to {visibleText(turn.profileName)}</span>
            </>
          }
          second={
            <>
              <span className="sm:hidden">to {[visibleText(turn.profileName), ...notes].join("; ")}</span>
              <span className="max-sm:hidden">{notes.join("; ")}</span>
            </>
          }
        />
      </Cell>
      <Cell from="md" align="right">
        {rttWords(turn.rttMs)}
      </Cell>
      <CountCell from="sm" count={turn.casesDone} />
      <Cell from="lg" align="right" className="text-soft">
        {tookMs === null ? "–" : spanWords(tookMs)}
      </Cell>
      <Cell align="right">
        <Tag tone={TURN_TONES[turn.state]}>{turn.state}</Tag>
      </Cell>
    </Row>
  );
}
