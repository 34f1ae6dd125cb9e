"use client";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { nodeConditionOf } from "#protocol/fleet/node-status.ts";
import type { NodeRow } from "#protocol/wire/views.ts";
import { PageFault } from "../../../_hub/faults/page-fault.tsx";
import { useRateUnit } from "../../../_hub/preferences/choices.ts";
import { EventsPanelLater } from "../../../_hub/events/events-panel-later.tsx";
import { useHubNow, useNodeAt } from "../../../_hub/live/live.tsx";
import { useWhyNot } from "../../../_hub/session/person.tsx";
import { nodeQuery } from "../../../_hub/queries/queries.ts";
import { nodeHeadline, nodeStateWords, unsafeWords } from "../../../_hub/risk-words.ts";
import { useTitle } from "../../../_hub/address/title.ts";
import { useDialogs } from "../../../_shell/dialogs.tsx";
import { PageHead } from "../../../_shell/page-head.tsx";
import { cannotSustain } from "../../../_nodes/sustain.ts";
import { Banner } from "../../../_ui/feedback/banner.tsx";
import { Button, ButtonLink } from "../../../_ui/controls/button.tsx";
import { Panel } from "../../../_ui/layout/panel.tsx";
import { Skeleton, SkeletonRows } from "../../../_ui/loading/skeleton.tsx";
import { Tag } from "../../../_ui/indicators/tag.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { ContinueAdvice } from "./continue-advice.tsx";
import { NodeFactsLine } from "./node-facts-line.tsx";
import { onDemand, onItsWay } from "../../../_ui/loading/on-demand.tsx";

const CommandsPanel = onDemand(
  () => import("../../../_commands/commands-panel.tsx").then((module) => module.CommandsPanel),
  () => (
    <Panel title="Commands" label="Commands">
      <SkeletonRows rows={2} label="Loading commands" />
    </Panel>
  ),
);
const LinkPanel = onDemand(
  () => import("../../../_link-history/link-panel.tsx").then((module) => module.LinkPanel),
  () => (
    <Panel title="Link history">
      <SkeletonRows rows={3} label="Loading the history of the link" />
    </Panel>
  ),
);
const NodeChart = onItsWay(
  () => import("./node-chart.tsx").then((module) => module.NodeChart),
  () => (
    <Panel title="Throughput">
      <Skeleton className="h-[172px] w-full" />
    </Panel>
  ),
);
const NodeRuns = onDemand(
  () => import("./node-runs.tsx").then((module) => module.NodeRuns),
  ({ node }) => (
    <Panel title="Runs">
      <div style={{ height: node.runs.length === 0 ? 67 : 33 + 51 * node.runs.length }} />
    </Panel>
  ),
);
const NodeAdvice = onDemand(() => import("../../../_advice/node-advice.tsx").then((module) => module.NodeAdvice));
const TransfersPanel = onDemand(
  () => import("../../../_transfers/transfers-panel.tsx").then((module) => module.TransfersPanel),
  () => (
    <Panel title="Transfers">
      <SkeletonRows rows={3} label="Loading transfers" />
    </Panel>
  ),
);
const LinkCharts = onDemand(
  () => import("../../../_nodes/link-charts.tsx").then((module) => module.LinkCharts),
  () => <div className="h-[302px] rounded-2 border border-line bg-panel md:h-[156px]" />,
);
const ProgramWords = onDemand(
  () => import("../../../_nodes/program-words.tsx").then((module) => module.ProgramWords),
  () => (
    <Panel title="Program" label="Program">
      <SkeletonRows rows={2} label="Loading the program output" />
    </Panel>
  ),
);
const CommandDialog = onDemand(() =>
  import("../../../_commands/command-dialog.tsx").then((module) => module.CommandDialog),
);
const RunsDialog = onDemand(() => import("./runs-dialog.tsx").then((module) => module.RunsDialog));
const RevokeDialog = onDemand(() => import("./revoke-dialog.tsx").then((module) => module.RevokeDialog));

export function NodeView({ id }: { id: string }) {
  const live = useNodeAt(id);
  const stored = useQuery({ ...nodeQuery(id), enabled: live === null });
  const node = live ?? stored.data ?? null;
  useTitle(node === null ? null : visibleText(node.name));
  if (node !== null) return <NodeBody node={node} />;
  if (stored.isError)
    return <PageFault query={stored} thing="node" wayOut={<ButtonLink href="/nodes">All nodes</ButtonLink>} />;
  return (
    <output aria-label="Loading the node" className="flex flex-col gap-5">
      <Skeleton className="h-9 w-72" />
      <Skeleton className="h-4 w-96 max-w-full" />
      <div className="h-[240px] rounded-2 border border-line bg-panel" />
      <div className="rounded-2 border border-line bg-panel">
        <SkeletonRows rows={3} />
      </div>
    </output>
  );
}

function NodeBody({ node }: { node: NodeRow }) {
  const now = useHubNow(1000);
  const dialogs = useDialogs();
  const [revoking, setRevoking] = useState(false);
  const [ordering, setOrdering] = useState(false);
  const [letting, setLetting] = useState(false);
  const mayNotRestore = useWhyNot("operator");
  const mayNotRevoke = useWhyNot("admin");
  const state = nodeStateWords(node, now);
  const headline = nodeHeadline({ ...node, name: visibleText(node.name) }, now);
  const warning = cannotSustain(node, useRateUnit());
  const gone = node.state === "revoked";
  return (
    <>
      <PageHead
        title={visibleText(node.name)}
        tag={<Tag tone={state.tone}>{state.text}</Tag>}
        about={<NodeFactsLine node={node} />}
        actions={
          <>
            {!gone && (
              <Button
                disabled={mayNotRevoke !== null}
                title={mayNotRevoke ?? undefined}
                onClick={() => setRevoking(true)}
              >
                Revoke…
              </Button>
            )}
            {!gone && (
              <Button
                disabled={mayNotRestore !== null}
                title={mayNotRestore ?? undefined}
                onClick={() => setLetting(true)}
              >
                Runs…
              </Button>
            )}
            {!gone && (
              <Button
                disabled={mayNotRestore !== null}
                title={mayNotRestore ?? undefined}
                onClick={() => setOrdering(true)}
              >
                Send command…
              </Button>
            )}
            <Button
              look="main"
              disabled={gone || mayNotRestore !== null}
              title={mayNotRestore ?? undefined}
              onClick={() => dialogs.restore({ checkpointId: null, nodeId: node.id })}
            >
              Restore here
            </Button>
          </>
        }
      />
      {gone ? (
        <Banner tone="quiet" title="This node was revoked.">
          Its credential is no longer accepted. What it saved stays in the bucket.
        </Banner>
      ) : (
        <p className="-mt-2 text-15">
          {headline.before}
          {headline.number !== null && <b className="nums dim-when-stale font-semibold text-risk">{headline.number}</b>}
          {headline.after}{" "}
          <span className="nums text-soft">{unsafeWords(node.risk) === null ? "" : `${unsafeWords(node.risk)}.`}</span>
        </p>
      )}
      {node.state === "silent" && (
        <Banner tone="lost" speech="quiet" title="This node is silent: it may be gone, or cut off.">
          <ContinueAdvice nodeId={node.id} /> If it is only disconnected, it continues and catches up by itself.
        </Banner>
      )}
      {nodeConditionOf(node) === "stranded" && (
        <Banner tone="lost" speech="quiet" title="This node stopped with work that is not safe.">
          <ContinueAdvice nodeId={node.id} />
        </Banner>
      )}
      {warning !== null && (
        <Banner tone="risk" title={warning.title}>
          {warning.why}
        </Banner>
      )}
      <NodeChart node={node} />
      <LinkCharts node={node} />
      <NodeRuns node={node} />
      <div className="grid items-start gap-5 min-[1180px]:grid-cols-[minmax(0,1fr)_360px]">
        <div className="flex min-w-0 flex-col gap-5">
          <TransfersPanel nodeId={node.id} />
          <LinkPanel nodeId={node.id} nodeName={node.name} />
          {!gone && <NodeAdvice nodeId={node.id} />}
          {!gone && <ProgramWords nodeId={node.id} />}
        </div>
        <div className="flex min-w-0 flex-col gap-5">
          <CommandsPanel nodeId={node.id} />
          <EventsPanelLater nodeId={node.id} run={null} />
        </div>
      </div>
      {ordering && <CommandDialog nodes={[node]} onClose={() => setOrdering(false)} />}
      {letting && <RunsDialog node={node} onClose={() => setLetting(false)} />}
      {revoking && <RevokeDialog node={node} onClose={() => setRevoking(false)} />}
    </>
  );
}
