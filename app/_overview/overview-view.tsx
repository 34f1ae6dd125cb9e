"use client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../_ui/navigation/link.tsx";
import { transferPhaseOf } from "#protocol/fleet/node-status.ts";
import { formatCount, formatDuration } from "#protocol/base/units.ts";
import type { FleetView, NodeRow } from "#protocol/wire/views.ts";
import { EventsPanelLater } from "../_hub/events/events-panel-later.tsx";
import { useFleet, useLiveTransfers, useNodes } from "../_hub/live/live.tsx";
import { activeAlertsQuery, profilesQuery } from "../_hub/queries/queries.ts";
import { fleetHeadline, unsafeWords } from "../_hub/risk-words.ts";
import { useTitle } from "../_hub/address/title.ts";
import { matchesNothing, NODE_FILTERS, parseNodeFilter, passesFilter, type NodeFilter } from "../_nodes/node-filter.ts";
import { useAddressWord } from "../_hub/address/address.ts";
import { useDialogs } from "../_shell/dialogs.tsx";
import { PageHead } from "../_shell/page-head.tsx";
import { Button, ButtonLink } from "../_ui/controls/button.tsx";
import { onDemand, onItsWay } from "../_ui/loading/on-demand.tsx";
import { classNames } from "../_ui/rendering/class-names.ts";
import { FilterWords } from "../_ui/controls/filter-words.tsx";
import { Panel } from "../_ui/layout/panel.tsx";
import { Skeleton, SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { byTrouble, countTroubles, failingNodes, rankNodes, troublesOf, type NodeRanks } from "./trouble.ts";
import { TroubleStrip } from "./trouble-strip.tsx";

const NODES_SHOWN = 12;
const NodeTable = onItsWay(
  () => import("../_nodes/node-table.tsx").then((module) => module.NodeTable),
  ({ ids }) => <SkeletonRows rows={Math.min(NODES_SHOWN, ids.length)} label="Loading nodes" table />,
);
const TransfersPanel = onItsWay(
  () => import("./transfers-panel.tsx").then((module) => module.TransfersPanel),
  ({ moves }) => (
    <Panel title="Transfers" note={moves}>
      <SkeletonRows rows={3} label="Loading transfers" />
    </Panel>
  ),
);
const TidePanel = onItsWay(
  () => import("./tide-panel.tsx").then((module) => module.TidePanel),
  () => (
    <Panel title="Tide">
      <Skeleton className="h-[172px] w-full" />
    </Panel>
  ),
);
const JobsPanel = onItsWay(() => import("./jobs-panel.tsx").then((module) => module.JobsPanel));
const FirstSteps = onDemand(() => import("./first-steps.tsx").then((module) => module.FirstSteps));

/** Shows what would be lost right now, and on which nodes. Parts with different update rates render separately. */
export function OverviewView() {
  const fleet = useFleet();
  const nodes = useNodes();
  const profiles = useQuery(profilesQuery());
  if (fleet === null || nodes === null || profiles.data === undefined) return <OverviewSkeleton />;
  if (fleet.nodes === 0 || fleet.checkpointsComplete === 0)
    return <FirstSteps fleet={fleet} profiles={profiles.data} nodes={[...nodes.values()]} />;
  return (
    <>
      <FleetHead fleet={fleet} />
      <Overview nodes={nodes} failedLastDay={fleet.failedLastDay} isTraining={fleet.risk.lossMs >= 1000} />
    </>
  );
}

function FleetHead({ fleet }: { fleet: FleetView }) {
  const dialogs = useDialogs();
  const headline = fleetHeadline(fleet);
  const isAtRisk = fleet.byWork.risk + fleet.byWork.lost > 0;
  return (
    <PageHead
      title={
        <>
          {headline.before}
          {headline.number !== null && <em className="nums dim-when-stale text-risk not-italic">{headline.number}</em>}
          {headline.after}
        </>
      }
      about={<WorstSentence fleet={fleet} />}
      actions={
        <>
          {/* Invisible instead of absent, because the headline would wrap whenever the button appears. */}
          <ButtonLink href="/nodes?show=risk" className={classNames(!isAtRisk && "max-md:hidden md:invisible")}>
            Show nodes falling behind or lost
          </ButtonLink>
          <Button look="main" onClick={dialogs.addNode}>
            Add node
          </Button>
        </>
      }
    />
  );
}

interface OverviewProps {
  nodes: ReadonlyMap<string, NodeRow>;
  failedLastDay: number;
  /** Whether training time would be lost. */
  isTraining: boolean;
}

function Overview({ nodes, failedLastDay, isTraining }: OverviewProps) {
  const transfers = [...(useLiveTransfers()?.values() ?? [])];
  const phases = new Set(transfers.map((row) => transferPhaseOf(row.state, nodes.get(row.nodeId)?.state ?? null)));
  const isMoving = phases.has("moving");
  // When nothing moves, the panel shows waiting transfers with the reason.
  const moves = !isMoving && (phases.has("waiting") || phases.has("unheard")) ? "waiting" : "now";
  // As text, so that memoization works: transfers change every second, the set of failing nodes rarely.
  const failing = [...failingNodes(transfers)].toSorted().join(" ");
  const ranks = rankNodes(nodes.values(), new Set(failing.split(" ")));
  return (
    <>
      <Troubles ranks={ranks} failedLastDay={failedLastDay} isMoving={isMoving} isTraining={isTraining} />
      <TidePanel />
      <div className="grid items-start gap-5 min-[1180px]:grid-cols-[minmax(0,1fr)_320px]">
        <div className="flex min-w-0 flex-col gap-5">
          <NodesPanel ranks={ranks} />
          <TransfersPanel moves={moves} />
          <JobsPanel />
        </div>
        <EventsPanelLater nodeId={null} run={null} />
      </div>
    </>
  );
}

interface TroublesProps {
  ranks: NodeRanks;
  failedLastDay: number;
  isMoving: boolean;
  isTraining: boolean;
}

function Troubles({ ranks, failedLastDay, isMoving, isTraining }: TroublesProps) {
  const alerts = useQuery(activeAlertsQuery()).data?.total ?? null;
  const troubles = troublesOf({ failedLastDay, nodes: countTroubles(ranks), isMoving, alerts });
  const worst = troubles[0];
  // The tab title shows the worst problem, because the page may be in a background tab.
  useTitle(worst === undefined ? "Overview" : `▲ ${formatCount(worst.count)} ${worst.words}`);
  return <TroubleStrip troubles={troubles} isWhole={alerts !== null} isTraining={isTraining} />;
}

function NodesPanel({ ranks }: { ranks: NodeRanks }) {
  const [show, setShow] = useAddressWord("show", "all");
  const filter = parseNodeFilter(show);
  const passes = (node: NodeRow): boolean => passesFilter(node, filter);
  const ids = byTrouble(ranks, { passes, most: NODES_SHOWN }).map((node) => node.id);
  const all = Object.values(ranks);
  const count = (word: NodeFilter): number =>
    all.reduce((sum, nodes) => sum + nodes.filter((node) => passesFilter(node, word)).length, 0);
  return (
    <Panel
      title="Nodes"
      note="Worst first"
      side={
        <FilterWords
          label="Show"
          value={filter}
          onChange={setShow}
          words={NODE_FILTERS.slice(0, 5).map((one) => ({
            ...one,
            count: one.id === "all" ? undefined : count(one.id),
          }))}
        />
      }
    >
      {ids.length === 0 ? (
        <p className="px-4 py-6 text-soft">{matchesNothing(filter)}</p>
      ) : (
        <NodeTable ids={ids} most={NODES_SHOWN} label="Nodes, worst first" />
      )}
      {ids.length > NODES_SHOWN && (
        <p className="border-t border-line px-4 py-2.5 text-soft">
          <Link href={filter === "all" ? "/nodes" : `/nodes?show=${filter}`} className="hover:text-ink hover:underline">
            All {formatCount(ids.length)} nodes
          </Link>
        </p>
      )}
    </Panel>
  );
}

/** Explains the headline: what is not safe, and the node with the largest loss. */
function WorstSentence({ fleet }: { fleet: FleetView }) {
  const unsafe = unsafeWords(fleet.risk);
  const worst = fleet.worstNode;
  return (
    <span className="nums">
      {unsafe === null ? "Everything captured is safe" : unsafe}.
      {worst !== null && worst.lossMs >= 1000 && (
        <>
          {" "}
          <Link href={`/nodes/${encodeURIComponent(worst.id)}`} className="font-mid text-ink hover:underline">
            {visibleText(worst.name)}
          </Link>{" "}
          would lose the most: {formatDuration(worst.lossMs)}
          {unsafe === null && " since its newest checkpoint"}.
        </>
      )}
    </span>
  );
}

function OverviewSkeleton() {
  return (
    <output aria-label="Loading the overview" className="flex flex-col gap-5">
      <div className="flex flex-col gap-2">
        <Skeleton className="h-9 w-[min(620px,90%)]" />
        <Skeleton className="h-4 w-[min(420px,70%)]" />
      </div>
      <div className="h-[300px] rounded-2 border border-line bg-panel" />
      <div className="rounded-2 border border-line bg-panel">
        <SkeletonRows rows={6} />
      </div>
    </output>
  );
}
