"use client";
import { useRef } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { JobRow } from "#protocol/jobs/job-views.ts";
import { Age } from "../_hub/live/age.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { Cell, Row, RowLink, SpacerRow, Table, TwoLines, type Column } from "../_ui/tables/table.tsx";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { JOB_LOOKS, KELPIE_WORDS, whyWords } from "./job-words.ts";

const COLUMNS: readonly Column[] = [
  { key: "name", head: "Job" },
  { key: "state", head: "State", edge: "narrow" },
  { key: "queue", head: "Queue", from: "md" },
  { key: "node", head: "Node", from: "sm" },
  { key: "attempts", head: "Attempts", align: "right", from: "lg" },
  { key: "owner", head: "Submitted by", from: "xl" },
  { key: "age", head: "Submitted", align: "right", from: "sm" },
];
const HEIGHT = 51;

/** Lists jobs, newest first. */
export function JobTable({ rows }: { rows: readonly JobRow[] }) {
  const frame = useRef<HTMLDivElement>(null);
  const view = useRowWindow({ count: rows.length, rowHeight: HEIGHT, rows: frame });
  return (
    <div ref={frame}>
      <Table label="Jobs" columns={COLUMNS}>
        {view.before > 0 && <SpacerRow columns={COLUMNS.length} height={view.before} />}
        {rows.slice(view.first, view.end).map((row) => (
          <JobLine key={row.id} row={row} />
        ))}
        {view.after > 0 && <SpacerRow columns={COLUMNS.length} height={view.after} />}
      </Table>
    </div>
  );
}

function JobLine({ row }: { row: JobRow }) {
  const { tone, text } = JOB_LOOKS[row.state];
  const run = row.kelpie === null ? `run ${visibleText(row.run)}` : KELPIE_WORDS;
  const why = whyWords(row);
  const place = row.node?.name ?? row.kelpie?.machine ?? null;
  return (
    <Row className="h-[51px]">
      <Cell className="max-w-64 max-sm:max-w-44">
        <TwoLines
          first={<RowLink href={`/jobs/${encodeURIComponent(row.id)}`}>{visibleText(row.name)}</RowLink>}
          second={
            <span className="block truncate" title={why ?? run}>
              {why ?? run}
            </span>
          }
        />
      </Cell>
      <Cell className="max-sm:pr-4">
        <Tag tone={tone}>{text}</Tag>
        {row.failures > 0 && (
          <div className="nums text-12 text-faint">
            {row.failures} of {row.mostFailures} failures
          </div>
        )}
      </Cell>
      <Cell from="md" className="max-w-36 truncate text-soft">
        {visibleText(row.queue)}
        {row.priority !== 0 && <div className="nums text-12 text-faint">priority {row.priority}</div>}
      </Cell>
      <Cell from="sm" className="max-w-40 truncate">
        {place === null ? <span className="text-faint">–</span> : visibleText(place)}
      </Cell>
      <Cell from="lg" align="right" className="text-soft">
        {formatCount(row.attempts)}
      </Cell>
      <Cell from="xl" className="max-w-44 truncate text-soft">
        {visibleText(row.owner)}
      </Cell>
      <Cell from="sm" align="right" className="text-soft">
        <Age at={row.createdAt} />
      </Cell>
    </Row>
  );
}
