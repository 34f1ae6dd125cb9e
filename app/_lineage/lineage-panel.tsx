"use client";
import { shownStep, stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { branchWords } from "#protocol/history/passed-over.ts";
import type { LineageEpoch, LineageView } from "#protocol/checkpoint/lineage.ts";
import { isHeard } from "#protocol/fleet/node-status.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { useNode } from "../_hub/live/live.tsx";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { CountCell } from "../_ui/tables/count-cell.tsx";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { MarkShape, Mark } from "../_ui/indicators/mark.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { Cell, Row, Table, type Column } from "../_ui/tables/table.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { dotAt, edgePath, LANE, lineageGraph, ROW } from "./lineage-graph.ts";
import { formatBytes } from "../_ui/text/sizes.ts";

const COLUMNS: readonly Column[] = [
  { key: "epoch", head: "Epoch" },
  { key: "node", head: "Node" },
  { key: "from", head: "Went on from", from: "sm" },
  { key: "steps", head: "Complete steps", align: "right" },
  { key: "count", head: "Checkpoints", align: "right", from: "md" },
  { key: "size", head: "Stored", align: "right", from: "md" },
  { key: "lost", head: "Done again", align: "right", from: "lg" },
  { key: "began", head: "Began", align: "right", from: "sm" },
];

/** Shows which node wrote which steps of a run, where the run moved, and which uploads were refused: as a graph or a table. */
export function LineagePanel({ run }: { run: string }) {
  const [as, setAs] = useAddressWord("lineage", "graph");
  const lineage = useQuery({
    queryKey: ["runs", run, "lineage"],
    queryFn: () => hub.runs.lineage.query({ run }),
    refetchInterval: 30_000,
  });
  const { data } = lineage;
  return (
    <Panel
      label="Lineage"
      title="Lineage"
      note={data !== undefined && <LineageNote view={data} />}
      side={
        <FilterWords
          label="Lineage as"
          words={[
            { id: "graph", label: "Graph" },
            { id: "table", label: "Table" },
          ]}
          value={as === "table" ? "table" : "graph"}
          onChange={setAs}
        />
      }
    >
      {lineage.isError && data === undefined ? (
        <QueryFault query={lineage} />
      ) : data === undefined ? (
        <SkeletonRows rows={2} label="Loading the lineage" />
      ) : data.epochs.length === 0 ? (
        <p className="px-4 py-4 text-soft">No node has written this run yet.</p>
      ) : as === "table" ? (
        <LineageTable epochs={data.epochs} />
      ) : (
        <LineageGraph epochs={data.epochs} />
      )}
      {data !== undefined && data.omitted > 0 && (
        <p className="nums border-t border-line px-4 py-2 text-soft">{formatCount(data.omitted)} earlier epochs.</p>
      )}
      {data !== undefined && data.refusals.total > 0 && <Refusals refusals={data.refusals} />}
    </Panel>
  );
}

function LineageNote({ view }: { view: LineageView }) {
  const nodes = new Set(view.epochs.flatMap(({ nodeId }) => nodeId ?? [])).size;
  const writers = view.epochs.filter(({ epoch }) => epoch > 0).length + view.omitted;
  return (
    <span className="nums">
      {formatCount(writers)} {writers === 1 ? "epoch" : "epochs"} on {formatCount(nodes)}{" "}
      {nodes === 1 ? "node" : "nodes"}
    </span>
  );
}

const stepsOf = ({ firstStep, lastStep }: LineageEpoch): string =>
  firstStep === null || lastStep === null
    ? "none"
    : firstStep === lastStep
      ? shownStep(firstStep)
      : `${shownStep(firstStep)} to ${shownStep(lastStep)}`;

const parentWords = ({ parent }: LineageEpoch): string =>
  parent === null
    ? "fresh"
    : `${stepWords(parent.step)} of ${parent.epoch === 0 ? "what was adopted" : `epoch ${parent.epoch}`}`;

const lostWords = ({ lost }: LineageEpoch): string | null =>
  lost === null ? null : `${formatCount(lost.steps)} steps, ${formatDuration(lost.ms)}`;

function NodeName({ epoch }: { epoch: LineageEpoch }) {
  if (epoch.nodeId === null) return <span className="text-soft">{epoch.nodeName}</span>;
  return (
    <Link href={`/nodes/${encodeURIComponent(epoch.nodeId)}`} className="font-mid hover:underline">
      {visibleText(epoch.nodeName)}
    </Link>
  );
}

const isPresent = ({ epoch, endedAt }: LineageEpoch): boolean => epoch > 0 && endedAt === null;

/** Says that the node of the newest epoch writes now, or shows that node's state. */
function WriterTag({ nodeId }: { nodeId: string | null }) {
  const state = useNode(nodeId ?? "")?.state ?? null;
  if (state === null) return null;
  if (isHeard(state)) return <Tag tone="moving">writes now</Tag>;
  return <Tag tone={state === "silent" ? "lost" : state === "unconfirmed" ? "risk" : "quiet"}>{state}</Tag>;
}

function LineageGraph({ epochs }: { epochs: readonly LineageEpoch[] }) {
  const { rows, lanes } = lineageGraph(epochs);
  const width = 32 + (lanes - 1) * LANE;
  return (
    <div className="relative">
      <svg aria-hidden width={width} height={rows.length * ROW} className="pointer-events-none absolute top-0 left-0">
        {rows.map((row, index) => {
          const parent = row.parentRow === null ? undefined : rows[row.parentRow];
          if (parent === undefined || row.parentRow === null) return null;
          const path = edgePath(dotAt(row, index), dotAt(parent, row.parentRow));
          return <path key={row.epoch.epoch} d={path} className="stroke-edge" strokeWidth="1.5" fill="none" />;
        })}
        {rows.map((row, index) => {
          const { x, y } = dotAt(row, index);
          const tone = isPresent(row.epoch) ? "moving" : row.epoch.complete > 0 ? "safe" : "quiet";
          return (
            <g key={row.epoch.epoch} transform={`translate(${x - 5},${y - 5})`}>
              <rect x="-2" y="-2" width="14" height="14" className="fill-panel" />
              <MarkShape tone={row.epoch.epoch === 0 ? "quiet" : tone} />
            </g>
          );
        })}
      </svg>
      <ol aria-label="Epochs, newest first">
        {rows.map(({ epoch }) => (
          <li
            key={epoch.epoch}
            className="nums flex flex-col justify-center border-b border-line pr-4 last:border-b-0"
            style={{ height: ROW, paddingLeft: width + 4 }}
          >
            <span className="flex min-w-0 items-center gap-2 whitespace-nowrap">
              <span className="text-soft">{epoch.epoch === 0 ? "adopted" : `epoch ${epoch.epoch}`}</span>
              <span className="truncate">
                <NodeName epoch={epoch} />
              </span>
              {isPresent(epoch) && <WriterTag nodeId={epoch.nodeId} />}
            </span>
            <span className="truncate text-12 text-faint">
              {epoch.epoch > 0 &&
                (epoch.branch !== null
                  ? `a new line: ${branchWords(epoch.branch)} · `
                  : epoch.parent === null
                    ? "started fresh · "
                    : `from ${parentWords(epoch)} · `)}
              {epoch.complete === 0 ? "nothing complete" : `steps ${stepsOf(epoch)}`}
              {epoch.complete > 0 && ` · ${formatCount(epoch.complete)} complete, ${formatBytes(epoch.sizeBytes)}`}
              {epoch.unfinished > 0 && ` · ${formatCount(epoch.unfinished)} captured and lost`}
              {epoch.lost !== null && ` · ${lostWords(epoch)} done again`}
              {epoch.claimedAt !== null && (
                <>
                  {" · "}
                  <Age at={epoch.claimedAt} />
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function LineageTable({ epochs }: { epochs: readonly LineageEpoch[] }) {
  return (
    <Table label="Epochs" columns={COLUMNS}>
      {epochs.map((epoch) => (
        <Row key={epoch.epoch}>
          <Cell className="nums whitespace-nowrap">
            {epoch.epoch === 0 ? "adopted" : epoch.epoch}
            {isPresent(epoch) && <span className="ml-2 text-12 text-faint">now</span>}
          </Cell>
          <Cell className="max-w-40 truncate">
            <NodeName epoch={epoch} />
          </Cell>
          <Cell from="sm" className="nums text-soft">
            {epoch.epoch === 0 ? "–" : parentWords(epoch)}
          </Cell>
          <Cell align="right">{stepsOf(epoch)}</Cell>
          <CountCell from="md" count={epoch.complete} />
          <Cell from="md" align="right">
            {formatBytes(epoch.sizeBytes)}
          </Cell>
          <Cell from="lg" align="right">
            {lostWords(epoch) ?? "–"}
          </Cell>
          <Cell from="sm" align="right" className="text-soft">
            {epoch.claimedAt === null ? "–" : <Age at={epoch.claimedAt} />}
          </Cell>
        </Row>
      ))}
    </Table>
  );
}

/** Shows refused uploads of nodes that returned after another had taken over. */
function Refusals({ refusals }: { refusals: LineageView["refusals"] }) {
  const names = [...new Set(refusals.newest.map(({ nodeName }) => visibleText(nodeName)))];
  const [newest] = refusals.newest;
  return (
    <p className="nums flex gap-2 border-t border-line px-4 py-2 text-soft">
      <Mark tone="lost" className="mt-[5px]" />
      <span className="min-w-0">
        {formatCount(refusals.total)} {refusals.total === 1 ? "upload" : "uploads"} of {names.slice(0, 3).join(", ")}
        {names.length > 3 && " and others"} {refusals.total === 1 ? "was" : "were"} refused: another node had taken over
        {newest !== undefined && (
          <>
            . The last was {stepWords(newest.step)}, <Age at={newest.at} />
          </>
        )}
        .
      </span>
    </p>
  );
}
