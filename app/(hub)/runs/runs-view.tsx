"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQuery } from "@tanstack/react-query";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { RunRow } from "#protocol/wire/views.ts";
import { useAddressWord } from "../../_hub/address/address.ts";
import { Age } from "../../_hub/live/age.tsx";
import { useWhyNot } from "../../_hub/session/person.tsx";
import { runsQuery } from "../../_hub/queries/queries.ts";
import { runStateWords } from "../../_hub/risk-words.ts";
import { QueryFault } from "../../_hub/faults/query-fault.tsx";
import { useRunStatus } from "../../_runs/use-run-status.ts";
import { RunTide } from "../../_runs/run-tide.tsx";
import { useDialogs } from "../../_shell/dialogs.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { SearchField } from "../../_ui/controls/search-field.tsx";
import { Button, ButtonLink } from "../../_ui/controls/button.tsx";
import { FilterWords } from "../../_ui/controls/filter-words.tsx";
import { Empty, Panel } from "../../_ui/layout/panel.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";
import { Cell, Row, RowLink, Table, TwoLines, type Column } from "../../_ui/tables/table.tsx";
import { Tag } from "../../_ui/indicators/tag.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";

const COLUMNS: readonly Column[] = [
  { key: "run", head: "Run" },
  { key: "tide", head: "Tide", from: "lg" },
  { key: "step", head: "Newest safe", align: "right", from: "sm" },
  { key: "writer", head: "Written by", from: "md" },
  { key: "count", head: "Checkpoints", align: "right", from: "lg" },
  { key: "size", head: "Stored", align: "right", from: "lg" },
  { key: "every", head: "Every", align: "right", from: "xl" },
  { key: "state", head: "State", align: "right", edge: "narrow" },
  { key: "actions", head: "", label: "Actions", align: "right", from: "sm" },
];

const FILTERS = [
  { id: "all", label: "All" },
  { id: "risk", label: "Behind or lost" },
  { id: "active", label: "Being written" },
] as const;

const passes = (run: RunRow, filter: string): boolean =>
  filter === "risk"
    ? run.work === "risk" || run.work === "lost"
    : filter === "active"
      ? run.writerState !== null &&
        isHeard(run.writerState) &&
        (run.uploading > 0 || run.work !== "safe" || run.risk.lossMs > 0)
      : true;

export function RunsView() {
  const runs = useQuery({ ...runsQuery(), refetchInterval: 15_000 });
  const [typed, setTyped] = useAddressWord("q", "", "same");
  const [show, setShow] = useAddressWord("show", "all");
  const filter = FILTERS.find((one) => one.id === show)?.id ?? "all";
  const dialogs = useDialogs();
  const all = runs.data ?? [];
  const found = all.filter((run) =>
    `${run.name} ${run.writerNodeName ?? ""} ${run.location}`.toLowerCase().includes(typed.toLowerCase()),
  );
  const rows = found.filter((run) => passes(run, filter));
  return (
    <>
      <PageHead
        title="Runs"
        about={
          runs.data === undefined
            ? ""
            : `${formatCount(all.length)} ${all.length === 1 ? "run" : "runs"}, ${formatBytes(all.reduce((sum, run) => sum + run.totalBytes, 0))} stored`
        }
        actions={
          <>
            <ButtonLink href="/losses">Lost work</ButtonLink>
            <ButtonLink href="/adopt">Found in the bucket</ButtonLink>
          </>
        }
      />
      <Panel label="Runs">
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2">
          <SearchField label="Filter runs" value={typed} onChange={setTyped} placeholder="Run, node, place" />
          <FilterWords
            label="Show"
            value={filter}
            onChange={setShow}
            words={FILTERS.map((one) => ({
              ...one,
              count: runs.data === undefined ? undefined : found.filter((run) => passes(run, one.id)).length,
            }))}
          />
        </div>
        {runs.isError && runs.data === undefined ? (
          <QueryFault query={runs} />
        ) : runs.data === undefined ? (
          <SkeletonRows rows={6} label="Loading runs" />
        ) : all.length === 0 ? (
          <Empty title="No run yet" action={<Button onClick={dialogs.addNode}>Add node</Button>}>
            A run begins when a node claims it for its first checkpoint. Its steps are then listed here, and any
            complete one can be restored.
          </Empty>
        ) : rows.length === 0 ? (
          <Empty title="No run matches">{formatCount(all.length)} runs are known; none fits this filter.</Empty>
        ) : (
          <Table label="Runs" columns={COLUMNS}>
            {rows.map((run) => (
              <RunRowView key={run.name} run={run} />
            ))}
          </Table>
        )}
      </Panel>
    </>
  );
}

function RunRowView({ run }: { run: RunRow }) {
  const dialogs = useDialogs();
  const whyNot = useWhyNot("operator");
  const state = runStateWords(useRunStatus(run));
  return (
    <Row>
      <Cell className="max-w-0 w-[30%] max-sm:w-3/5">
        <TwoLines
          first={<RowLink href={`/runs/${encodeURIComponent(run.name)}`}>{visibleText(run.name)}</RowLink>}
          second={<span className="font-mono">{visibleText(run.location)}</span>}
        />
      </Cell>
      <Cell from="lg" className="min-w-[112px]">
        <RunTide run={run} />
      </Cell>
      <Cell from="sm" align="right">
        {run.newestStep === null ? <span className="text-faint">none</span> : stepWords(run.newestStep)}
        {run.newestAt !== null && (
          <div className="text-12 text-faint">
            <Age at={run.newestAt} />
          </div>
        )}
      </Cell>
      <Cell from="md" className="max-w-0 w-[16%]">
        <TwoLines
          first={
            run.writerNodeName === null ? <span className="text-faint">nobody</span> : visibleText(run.writerNodeName)
          }
          second={run.writerEpoch === 0 ? "adopted" : `epoch ${run.writerEpoch}`}
        />
      </Cell>
      <Cell from="lg" align="right">
        {formatCount(run.complete)}
        {run.uploading > 0 && (
          <div className="text-12 text-faint">
            {formatCount(run.uploading)}{" "}
            {run.writerState !== null && isHeard(run.writerState) ? "uploading" : "not confirmed"}
          </div>
        )}
      </Cell>
      <Cell from="lg" align="right">
        {formatBytes(run.totalBytes)}
      </Cell>
      <Cell from="xl" align="right" className="text-soft">
        {run.intervalMs === null ? "–" : formatDuration(run.intervalMs)}
      </Cell>
      <Cell align="right" className="max-sm:pr-4">
        <Tag tone={state.tone}>{state.text}</Tag>
        <div className="text-12 text-faint sm:hidden">
          {run.newestStep === null ? "nothing safe yet" : `safe ${stepWords(run.newestStep)}`}
        </div>
      </Cell>
      <Cell from="sm" align="right">
        <Button
          size="small"
          aria-label={`Restore ${run.name}`}
          disabled={run.newestCheckpointId === null || whyNot !== null}
          title={whyNot ?? (run.newestCheckpointId === null ? "No complete checkpoint yet." : undefined)}
          onClick={() => dialogs.restore({ checkpointId: run.newestCheckpointId, nodeId: null })}
        >
          Restore
        </Button>
      </Cell>
    </Row>
  );
}
