"use client";
import { onItsWay } from "../../_ui/loading/on-demand.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";
import { SkeletonRows } from "../../_ui/loading/skeleton.tsx";

/** The events panel for pages on which it is secondary. It reserves its space and loads after the rest. */
export const EventsPanelLater = onItsWay(
  () => import("./events-panel.tsx").then((module) => module.EventsPanel),
  () => (
    <Panel title="Events" label="Events">
      <SkeletonRows rows={4} label="Loading events" />
    </Panel>
  ),
);
