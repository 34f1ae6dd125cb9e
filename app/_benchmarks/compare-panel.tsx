"use client";
import { useQuery } from "@tanstack/react-query";
import { ENGINES } from "#protocol/benchmarks/engines.ts";
import type { BenchView } from "#protocol/benchmarks/views.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { useRateOrDash } from "../_hub/preferences/choices.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { PlainSelect } from "../_ui/controls/plain-select.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { benchmarkQuery, benchmarksQuery } from "./bench-queries.ts";
import { changeWords } from "./bench-words.ts";
import { fullTime } from "../_ui/text/times.ts";

const COLUMNS: readonly Column[] = [
  { key: "what", head: "Mean of" },
  { key: "other", head: "The other", align: "right", from: "sm" },
  { key: "this", head: "This one", align: "right" },
  { key: "change", head: "Change", align: "right" },
];
const NONE = "none";

/** Compares this benchmark with another one, whose id is in the page's address. */
export function ComparePanel({ bench }: { bench: BenchView }) {
  const [otherId, setOther] = useAddressWord("with", "");
  const list = useQuery(benchmarksQuery()).data ?? [];
  const other = useQuery(benchmarkQuery(otherId));
  const choices = list.filter(({ id }) => id !== bench.id);
  if (choices.length === 0) return null;
  return (
    <Panel
      title="Compared"
      label="Compared"
      side={
        <div className="w-56 sm:w-80">
          <PlainSelect
            placeholder="No other"
            label="Compare with"
            value={otherId === "" ? NONE : otherId}
            choices={[
              { value: NONE, label: "No other" },
              ...choices.map(({ id, name, startedAt }) => ({
                value: id,
                label: `${visibleText(name)}, ${fullTime(startedAt)}`,
              })),
            ]}
            onChange={(value) => setOther(value === NONE ? "" : value)}
          />
        </div>
      }
    >
      {otherId === "" ? (
        <p className="px-4 py-4 text-soft">Choose another benchmark to see what is faster now.</p>
      ) : other.data === undefined && other.isError ? (
        <QueryFault query={other} />
      ) : other.data === undefined ? (
        <SkeletonRows rows={4} label="Loading the other benchmark" />
      ) : (
        <Pairs now={bench} before={other.data} />
      )}
    </Panel>
  );
}

function Pairs({ now, before }: { now: BenchView; before: BenchView }) {
  const show = useRateOrDash();
  const rows = now.summary.engines.flatMap((one) => {
    const twin = before.summary.engines.find(
      ({ engine, direction }) => engine === one.engine && direction === one.direction,
    );
    return twin === undefined ? [] : [{ one, twin }];
  });
  if (rows.length === 0) return <p className="px-4 py-4 text-soft">They have no engine and direction in common.</p>;
  return (
    <Table label="Compared" columns={COLUMNS}>
      {rows.map(({ one, twin }) => (
        <Row key={`${one.engine} ${one.direction}`}>
          <Cell className="w-full max-w-0 sm:w-[40%]">
            <TwoLines first={ENGINES[one.engine].title} second={one.direction} />
          </Cell>
          <Cell from="sm" align="right" className="text-soft">
            {show(twin.meanBytesPerSecond)}
          </Cell>
          <Cell align="right">{show(one.meanBytesPerSecond)}</Cell>
          <Cell align="right" className="font-mid">
            {changeWords(one.meanBytesPerSecond, twin.meanBytesPerSecond)}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
