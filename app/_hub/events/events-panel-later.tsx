"use client";
import { onItsWay } from "../../_ui/loading/on-demand.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";

/** What has happened, on pages where it is not what people come for: it takes its room and comes after the rest. */
export const EventsPanelLater = onItsWay(
  () => import("./events-panel.tsx").then((module) => module.EventsPanel),
  () => (
    <Panel title="Events" label="Events">
      <SkeletonRows rows={4} label="Loading events" />
    </Panel>
  ),
);
