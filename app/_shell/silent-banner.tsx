"use client";
import { formatDuration } from "#protocol/base/units.ts";
import { useLiveness } from "../_hub/live/live.tsx";
import { Banner } from "../_ui/feedback/banner.tsx";

/** Shows the age of the numbers while the live link is lost. */
export function SilentBanner() {
  const { silentMs } = useLiveness(1000);
  if (silentMs === null) return null;
  return (
    <Banner tone="risk" speech="quiet" title={`Last update ${formatDuration(silentMs)} ago.`}>
      The numbers below are from then. Nodes go on saving by themselves; this page reconnects on its own.
    </Banner>
  );
}
