"use client";
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { PercentileRow } from "#protocol/history/history.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { useRate } from "../_hub/preferences/choices.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { hubNow } from "../_hub/live/live.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { FailedCell } from "../_ui/tables/failed-cell.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Cell, Row, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { LinkRecords } from "./link-records.tsx";
import { byBucket, HISTORY_RANGES, historyRangeOf, measureWords } from "./link-rows.ts";
import { recordsAsked } from "./records-asked.ts";
import { saveText } from "./save-text.ts";

const COLUMNS: readonly Column[] = [
  { key: "bucket", head: "Bucket" },
  { key: "measure", head: "Measure" },
  { key: "p10", head: "P10", align: "right", from: "sm" },
  { key: "p50", head: "P50", align: "right" },
  { key: "p90", head: "P90", align: "right", from: "sm" },
  { key: "mean", head: "Mean", align: "right", from: "lg" },
  { key: "count", head: "Samples", align: "right", from: "md" },
  { key: "failed", head: "Failed", align: "right" },
];

/** The range ends at a multiple of this, so that queries within an hour share a cache entry. */
const HOUR_MS = 3_600_000;

const linkQuery = (nodeId: string, range: { days: number; to: number }) =>
  queryOptions({
    queryKey: ["history", "percentiles", nodeId, range.days, range.to],
    queryFn: () =>
      hub.history.percentiles.query({
        from: range.to - range.days * 86_400_000,
        to: range.to,
        measures: ["up", "down", "rtt"],
        sources: null,
        nodeIds: [nodeId],
        profileId: null,
        provider: null,
        region: null,
        engine: null,
        by: "profile",
        limit: 100,
      }),
  });

/** Shows percentiles of a node's link to each bucket, over all its probes and transfers. */
export function LinkPanel({ nodeId, nodeName }: { nodeId: string; nodeName: string }) {
  const [word, setWord] = useAddressWord("history", "30d");
  const range = historyRangeOf(word);
  const [to] = useState(() => Math.ceil(hubNow() / HOUR_MS) * HOUR_MS);
  const found = useQuery({ ...linkQuery(nodeId, { days: range.days, to }), placeholderData: keepPreviousData });
  const rows = byBucket(found.data?.rows ?? []);
  const span = { from: to - range.days * 86_400_000, to };
  const save = useAction(() =>
    hub.history.export.query({
      what: "records",
      query: recordsAsked({ nodeId, span, cursor: null, limit: 500 }),
    }),
  );
  return (
    <Panel
      title="Link history"
      note={`probes and transfers, last ${range.words}`}
      side={
        <>
          <FilterWords label="History" words={HISTORY_RANGES} value={range.id} onChange={setWord} />
          <Button
            size="small"
            look="quiet"
            disabled={save.busy}
            onClick={() => save.run(undefined, (file) => saveText(file.fileName, file.text))}
          >
            {save.busy ? "Collecting" : "CSV"}
          </Button>
        </>
      }
    >
      {save.fault !== null && (
        <div className="p-3">
          <FaultNote fault={save.fault} />
        </div>
      )}
      {found.data === undefined && found.isError ? (
        <QueryFault query={found} />
      ) : found.data === undefined ? (
        <SkeletonRows rows={3} label="Loading the history of the link" />
      ) : rows.length === 0 ? (
        <p className="px-4 py-6 text-soft">
          Nothing was measured in this time. A probe or the first transfer of {visibleText(nodeName)} makes a line here.
        </p>
      ) : (
        <>
          <Table label="What this link did" columns={COLUMNS}>
            {rows.map(({ row, isFirst }) => (
              <LinkRow key={`${row.key} ${row.measure}`} row={row} first={isFirst ? "named" : "same"} />
            ))}
          </Table>
          <LinkRecords nodeId={nodeId} span={span} />
        </>
      )}
    </Panel>
  );
}

function LinkRow({ row, first }: { row: PercentileRow; first: "named" | "same" }) {
  const rate = useRate();
  const show = (value: number): string => (row.measure === "rtt" ? `${Math.round(value)} ms` : rate(value));
  const isEmpty = row.count === 0;
  const dash = <span className="text-faint">–</span>;
  return (
    <Row>
      <Cell className="max-w-0 w-[24%]">
        {first === "named" && <TwoLines first={visibleText(row.label)} second={null} />}
      </Cell>
      <Cell className="text-soft">{measureWords(row.measure)}</Cell>
      <Cell from="sm" align="right">
        {isEmpty ? dash : show(row.p10)}
      </Cell>
      <Cell align="right" className="font-mid">
        {isEmpty ? dash : show(row.p50)}
      </Cell>
      <Cell from="sm" align="right">
        {isEmpty ? dash : show(row.p90)}
      </Cell>
      <Cell from="lg" align="right" className="text-soft">
        {isEmpty ? dash : show(row.mean)}
      </Cell>
      <CountCell from="md" className="text-soft" count={row.count} />
      <FailedCell failed={row.failures} share={row.failureShare} />
    </Row>
  );
}
