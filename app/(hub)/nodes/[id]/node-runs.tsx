"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQuery } from "@tanstack/react-query";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { ContinueFrom } from "#protocol/checkpoint/continue-words.ts";
import type { NodeLine, NodeRow, NodeRunView } from "#protocol/wire/views.ts";
import { hub } from "../../../_hub/queries/client.ts";
import { useHubNow } from "../../../_hub/live/live.tsx";
import { continueQuery } from "../../../_hub/queries/queries.ts";
import { backlogAge, tideOf, tideWords, runStateWords } from "../../../_hub/risk-words.ts";
import { Panel } from "../../../_ui/layout/panel.tsx";
import { Cell, Row, RowLink, Table, TwoLines, type Column } from "../../../_ui/tables/table.tsx";
import { Tag } from "../../../_ui/indicators/tag.tsx";
import { TideLine } from "../../../_ui/indicators/tide-line.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { formatBytes } from "../../../_ui/text/sizes.ts";

const COLUMNS: readonly Column[] = [
  { key: "run", head: "Run" },
  { key: "tide", head: "Tide", from: "sm" },
  { key: "safe", head: "Newest safe", align: "right", from: "md" },
  { key: "local", head: "On disk", align: "right", from: "md" },
  { key: "backlog", head: "Backlog", align: "right", from: "lg" },
  { key: "interval", head: "Every", align: "right", from: "lg" },
  { key: "state", head: "State", align: "right" },
];

/** Lists the runs that this node writes or wrote, each with its tide gauge. */
export function NodeRuns({ node }: { node: NodeRow }) {
  const lines = useQuery({
    queryKey: ["node", node.id, "lines"],
    queryFn: () => hub.nodes.lines.query({ id: node.id }),
    refetchInterval: 30_000,
    enabled: node.runs.length > 0,
  });
  const recorded = useQuery({ ...continueQuery(node.id), enabled: node.runs.length > 0 });
  return (
    <Panel title="Runs">
      {node.runs.length === 0 ? (
        <p className="px-4 py-6 text-soft">
          This node watches no run yet. A run begins with the first checkpoint in the watched folder.
        </p>
      ) : (
        <Table label="Runs of this node" columns={COLUMNS}>
          {node.runs.map((run) => (
            <NodeRunRow
              key={run.run}
              run={run}
              state={node.state}
              newest={recorded.data?.runs.find((one) => one.run === run.run)?.newest}
              line={lines.data?.find((line) => line.run === run.run)}
            />
          ))}
        </Table>
      )}
    </Panel>
  );
}

/** Returns the folder of a run; empty when it only writes to the watched folder itself. */
function lineWords(line: NodeLine | undefined): string {
  if (line === undefined || (line.folder === "" && line.others === 0)) return "";
  return `, in ${line.folder === "" ? "the watched folder" : visibleText(line.folder)}`;
}

/** Says what is wrong with the checkpoints of a run: below its name, since a narrow page has no column for the newest one. */
function RunWarnings({ line, isDamaged }: { line: NodeLine | undefined; isDamaged: boolean }) {
  const { doubtfulStep = null, passedOverStep = null, isFinalDoubtful = false } = line ?? {};
  const words = [
    ...(doubtfulStep === null ? [] : [`${stepWords(doubtfulStep)} is doubtful`]),
    ...(isFinalDoubtful ? ["the final model is doubtful"] : []),
    ...(passedOverStep === null ? [] : [`its program did not continue from ${stepWords(passedOverStep)}`]),
    ...(isDamaged ? ["its newest safe checkpoint is damaged"] : []),
  ];
  return words.map((one) => (
    <div key={one} className="text-12 text-risk">
      {one}
    </div>
  ));
}

interface NodeRunRowProps {
  run: NodeRunView;
  line: NodeLine | undefined;
  /** Newest safe checkpoint by the hub's record; undefined while unknown, or when another node writes the run. */
  newest: ContinueFrom["newest"] | undefined;
  /** State of the node. */
  state: NodeRow["state"];
}

function NodeRunRow({ run, line, newest, state: writerState }: NodeRunRowProps) {
  const now = useHubNow(1000);
  const tide = tideOf(run, writerState);
  const safeStep = newest === undefined ? run.safeStep : (newest?.step ?? null);
  const age = backlogAge(run.risk, now);
  const where = (run.writerEpoch === null ? "no epoch yet" : `epoch ${run.writerEpoch}`) + lineWords(line);
  const state = run.isWriter
    ? runStateWords({ ...run, writerState })
    : ({ tone: "quiet", text: "taken over by another node" } as const);
  return (
    <Row>
      <Cell className="max-w-0 w-[30%] max-sm:w-3/5">
        <TwoLines
          first={<RowLink href={`/runs/${encodeURIComponent(run.run)}`}>{visibleText(run.run)}</RowLink>}
          second={<span title={where}>{where}</span>}
        />
        <RunWarnings line={line} isDamaged={newest?.isDamaged === true} />
      </Cell>
      <Cell from="sm" className="w-[22%] min-w-28">
        <div className="dim-when-stale">
          <TideLine tide={tide} label={tideWords(tide)} size="wide" />
        </div>
      </Cell>
      <Cell from="md" align="right">
        {safeStep === null ? <span className="text-faint">none</span> : stepWords(safeStep)}
        {run.safeAt !== null && safeStep === run.safeStep && now > 0 && (
          <div className="text-12 text-faint">{formatDuration(now - run.safeAt)} old</div>
        )}
      </Cell>
      <Cell from="md" align="right">
        {run.localStep === null ? <span className="text-faint">none</span> : stepWords(run.localStep)}
        {run.risk.steps > 0 && <div className="text-12 text-faint">{formatCount(run.risk.steps)} ahead</div>}
      </Cell>
      <Cell from="lg" align="right">
        {run.risk.bytes === 0 ? <span className="text-faint">0</span> : formatBytes(run.risk.bytes)}
        {age !== null && <div className="text-12 text-faint">{age}</div>}
      </Cell>
      <Cell from="lg" align="right" className="text-soft">
        {run.intervalMs === null ? "–" : formatDuration(run.intervalMs)}
      </Cell>
      <Cell align="right">
        <Tag tone={state.tone}>{state.text}</Tag>
      </Cell>
    </Row>
  );
}
