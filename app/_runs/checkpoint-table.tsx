"use client";
import { useRef } from "react";
import { nameOfPlace } from "#protocol/checkpoint/place.ts";
import { shownStep, stepSourceOf, stepWords } from "#protocol/checkpoint/step-words.ts";
import { formatDuration } from "#protocol/base/units.ts";
import type { EpochView } from "#protocol/checkpoint/lineage.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { useHubNow, useNode } from "../_hub/live/live.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { KeepMarks, RowRetention, tagWords, usePinKey } from "../_retention/row-retention.tsx";
import { useDialogs } from "../_shell/dialogs.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { Cell, Row, RowLink, SpacerRow, Table, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { VerifiedNote } from "../_verifying/verified-note.tsx";
import { clockTime } from "../_ui/text/times.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { useRowWindow } from "../_ui/tables/window-rows.ts";
import { checkpointNote, checkpointState, metricWords } from "./checkpoint-words.ts";
import { formatBytes } from "../_ui/text/sizes.ts";
import { lostIds } from "./step-lanes.ts";

const COLUMNS: readonly Column[] = [
  { key: "step", head: "Step" },
  { key: "state", head: "State" },
  { key: "size", head: "Size", align: "right", from: "sm" },
  { key: "files", head: "Files", align: "right", from: "lg" },
  { key: "age", head: "Age", align: "right", from: "sm" },
  { key: "node", head: "Node", from: "md" },
  { key: "metric", head: "Metric", from: "lg" },
  { key: "actions", head: "", label: "Actions", align: "right" },
];
const HEIGHT = 43;

/** Returns the last part of a path, because the folders before it are the same in each row. */
const shortPlace = (path: string): string => (path.includes("/") ? `…/${nameOfPlace(path)}` : path);

interface CheckpointTableProps {
  rows: readonly CheckpointRow[];
  epochs: readonly EpochView[];
}

/** Lists the checkpoints of a run, newest first. */
export function CheckpointTable({ rows, epochs }: CheckpointTableProps) {
  const lost = lostIds({ epochs, checkpoints: rows });
  const frame = useRef<HTMLDivElement>(null);
  const view = useRowWindow({ count: rows.length, rowHeight: HEIGHT, rows: frame });
  return (
    <div ref={frame}>
      <Table label="Checkpoints" columns={COLUMNS}>
        {view.before > 0 && <SpacerRow columns={COLUMNS.length} height={view.before} />}
        {rows.slice(view.first, view.end).map((row) => (
          <CheckpointRowView key={row.id} row={row} fate={lost.has(row.id) ? "lost" : "known"} />
        ))}
        {view.after > 0 && <SpacerRow columns={COLUMNS.length} height={view.after} />}
      </Table>
    </div>
  );
}

function CheckpointRowView({ row, fate }: { row: CheckpointRow; fate: "lost" | "known" }) {
  const now = useHubNow(10_000);
  const dialogs = useDialogs();
  const nodeState = useNode(row.nodeId)?.state ?? null;
  const pinKey = usePinKey(row);
  const whyNot = useWhyNot("operator");
  const state = fate === "lost" ? ({ tone: "lost", text: "lost" } as const) : checkpointState(row, nodeState);
  const notComplete = row.state === "complete" ? null : "Only a complete checkpoint can be restored.";
  const note = checkpointNote(row);
  const passed = Math.max(0, now - (row.committedAt ?? row.capturedAt));
  const age = now === 0 ? "" : passed < 5000 ? "now" : formatDuration(passed);
  return (
    <Row className={row.isNewest ? "bg-safe-bg/60" : undefined}>
      <Cell className="nums whitespace-nowrap">
        <RowLink href={`/checkpoints/${encodeURIComponent(row.id)}`} onKeyDown={pinKey}>
          {stepSourceOf(row.place) === "time"
            ? clockTime(row.step * 1000)
            : shownStep(row.step, stepSourceOf(row.place))}
        </RowLink>
        {stepSourceOf(row.place) === "time" && <span className="ml-2 text-12 text-faint">by time</span>}
        {note !== null && <span className="ml-2 text-12 text-faint max-sm:hidden">{note}</span>}
        <KeepMarks row={row} />
        {row.doubt !== null && (
          <div className="max-w-56 truncate text-12 text-risk max-sm:max-w-28" title={visibleText(row.doubt)}>
            {visibleText(row.doubt)}
          </div>
        )}
        {row.place !== null && (
          <div className="max-w-56 truncate text-12 text-faint max-sm:hidden" title={visibleText(row.place.path)}>
            {visibleText(shortPlace(row.place.path))}
          </div>
        )}
        <div className="max-w-28 truncate text-12 text-faint sm:hidden">
          {note === null ? "" : `${note}, `}
          {age}
          {tagWords(row)}
        </div>
      </Cell>
      <Cell>
        <Tag tone={state.tone}>{state.text}</Tag>{" "}
        <span className="text-12 max-lg:hidden">
          <VerifiedNote row={row} />
        </span>
      </Cell>
      <Cell from="sm" align="right">
        {formatBytes(row.sizeBytes)}
      </Cell>
      <CountCell from="lg" className="text-soft" count={row.fileCount} />
      <Cell from="sm" align="right" className="text-soft">
        {age}
      </Cell>
      <Cell from="md" className="max-w-40 truncate">
        {visibleText(row.nodeName)}{" "}
        <span className="nums text-12 text-faint">{row.writerEpoch > 0 && `epoch ${row.writerEpoch}`}</span>
      </Cell>
      <Cell from="lg" className="nums max-w-48 truncate text-soft">
        {metricWords(row.metrics)}
      </Cell>
      <Cell align="right">
        {/* Stacked where there is no room side by side. */}
        <span className="inline-flex flex-wrap items-center justify-end gap-1 align-middle">
          <span className="inline-flex">
            <RowRetention row={row} />
          </span>
          <Button
            size="small"
            aria-label={
              row.role === null ? `Restore ${stepWords(row.step, stepSourceOf(row.place))}` : "Restore the final model"
            }
            disabled={notComplete !== null || whyNot !== null}
            title={notComplete ?? whyNot ?? undefined}
            onClick={() => dialogs.restore({ checkpointId: row.id, nodeId: null })}
          >
            Restore
          </Button>
        </span>
      </Cell>
    </Row>
  );
}
