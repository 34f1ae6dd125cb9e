"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ChannelView, RuleView } from "#protocol/alerts/alert-views.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { activeAlertsQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { QueryFault } from "../_hub/faults/query-fault.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { onDemand, onItsWay } from "../_ui/loading/on-demand.tsx";
import { Empty, Panel } from "../_ui/layout/panel.tsx";
import { SkeletonRows } from "../_ui/loading/skeleton.tsx";
import { isMuted } from "./is-muted.ts";

const MutedPanel = onDemand(() => import("./muted-panel.tsx").then((module) => module.MutedPanel));
const FiringGroups = onItsWay(
  () => import("./firing-groups.tsx").then((module) => module.FiringGroups),
  ({ rows }) => <SkeletonRows rows={Math.min(4, rows.length)} label="Loading alerts" />,
);

interface FiringPanelProps {
  rules: readonly RuleView[];
  channels: readonly ChannelView[];
}

/** Shows muted rules, then firing alerts by rule, most severe first, with the messages sent about them. */
export function FiringPanel({ rules, channels }: FiringPanelProps) {
  const client = useQueryClient();
  const query = useQuery(activeAlertsQuery());
  const whyNot = useWhyNot("operator");
  const acknowledge = useAction((alertIds: string[]) => hub.alerts.acknowledge.mutate({ alertIds }));
  const refresh = () => void client.invalidateQueries({ queryKey: ["alerts"] });
  const muted = rules.filter(isMuted);
  const rows = query.data?.rows ?? [];
  const unseen = rows.filter(({ acknowledgedAt }) => acknowledgedAt === null).map(({ id }) => id);
  if (query.data === undefined) {
    return (
      <Panel label="Firing now">
        {query.isError ? <QueryFault query={query} /> : <SkeletonRows rows={4} label="Loading alerts" />}
      </Panel>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      {muted.length > 0 && <MutedPanel muted={muted} all={rules.length} />}
      <Panel
        label="Firing now"
        title={unseen.length === 0 ? undefined : `${formatCount(unseen.length)} not acknowledged`}
        note={query.data.total > rows.length ? `the first ${formatCount(rows.length)}` : undefined}
        side={
          unseen.length > 1 && (
            <Button
              size="small"
              disabled={whyNot !== null || acknowledge.busy}
              title={whyNot ?? undefined}
              onClick={() => acknowledge.run(unseen, refresh)}
            >
              Acknowledge all {formatCount(unseen.length)}
            </Button>
          )
        }
      >
        {acknowledge.fault !== null && (
          <div className="p-3">
            <FaultNote fault={acknowledge.fault} />
          </div>
        )}
        {rows.length === 0 ? (
          <Empty title="No active alerts">All rules are OK.</Empty>
        ) : (
          <FiringGroups
            rows={rows}
            rules={rules}
            channels={channels}
            onAcknowledge={(id) => acknowledge.run([id], refresh)}
            whyNot={whyNot}
            busy={acknowledge.busy}
          />
        )}
      </Panel>
    </div>
  );
}
