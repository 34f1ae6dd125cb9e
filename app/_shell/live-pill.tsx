"use client";
import { useEffect, useRef } from "react";
import { formatDuration } from "#protocol/units.ts";
import { useLiveness, useLiveState } from "../_hub/live.tsx";
import { Mark } from "../_ui/mark.tsx";
import { onItsWay } from "../_ui/on-demand.tsx";
import { say } from "../_ui/toast.tsx";

// At once: it is shown when the hub is away.
const SilentBanner = onItsWay(() => import("./silent-banner.tsx").then((module) => module.SilentBanner));

/** How old the numbers are: "live, 0.4 s ago". */
export function LivePill() {
  const { state, silentMs } = useLiveness(250);
  return (
    <span className="nums flex items-center gap-1.5 whitespace-nowrap text-soft">
      <Mark tone={state === "live" ? "safe" : state === "stale" ? "risk" : "quiet"} />
      {state === "connecting" || silentMs === null ? (
        // As wide as what follows.
        <span className="sm:min-w-[85px]">connecting</span>
      ) : (
        <>
          <span>
            {state === "live" ? "live" : "not live"}
            <span className="max-sm:hidden">,</span>
          </span>
          <span className="-ml-0.5 inline-block min-w-[58px] max-sm:hidden">
            {silentMs < 10_000 ? `${(silentMs / 1000).toFixed(1)} s ago` : `${formatDuration(silentMs)} ago`}
          </span>
        </>
      )}
    </span>
  );
}

/** Says once when the link is lost and once when it is back; the banner stays in between. */
export function StaleBanner() {
  const state = useLiveState();
  const before = useRef(state);
  useEffect(() => {
    if (before.current === "stale" && state === "live") say("safe", "Live again.");
    if (before.current === "live" && state === "stale") say("risk", "The page is not live any more.");
    before.current = state;
  }, [state]);
  return state === "stale" && <SilentBanner />;
}
