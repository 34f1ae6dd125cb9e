"use client";
import { formatCount } from "#protocol/base/units.ts";
import { useRate } from "../../_hub/preferences/choices.ts";
import { useFleet } from "../../_hub/live/live.tsx";
import { PageHead } from "../../_shell/page-head.tsx";
import { onItsWay } from "../../_ui/loading/on-demand.tsx";
import { TransfersPanel } from "../../_transfers/transfers-panel.tsx";

const JobsPanel = onItsWay(() => import("../../_browse/jobs/jobs-panel.tsx").then((module) => module.JobsPanel));

const ThisBrowserPanel = onItsWay(() =>
  import("../../_browser-transfers/this-browser-panel.tsx").then((module) => module.ThisBrowserPanel),
);

/** Lists transfers between nodes and buckets, and between this browser and buckets. */
export function TransfersView() {
  const fleet = useFleet();
  const rate = useRate();
  return (
    <>
      <PageHead
        title="Transfers"
        about={
          fleet === null ? (
            ""
          ) : (
            <span className="nums dim-when-stale">
              {fleet.upBytesPerSecond + fleet.downBytesPerSecond === 0
                ? "Nothing moves now."
                : `${rate(fleet.upBytesPerSecond)} up, ${rate(fleet.downBytesPerSecond)} down now.`}{" "}
              In the last 24 h: {formatCount(fleet.doneLastDay)} done, {formatCount(fleet.failedLastDay)} failed.
            </span>
          )
        }
      />
      <TransfersPanel
        nodeId={null}
        below={
          <>
            <ThisBrowserPanel />
            <JobsPanel profileId={null} />
          </>
        }
      />
    </>
  );
}
