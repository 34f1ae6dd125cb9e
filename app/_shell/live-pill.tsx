"use client";
import { formatDuration } from "#protocol/base/units.ts";
import { useLiveness } from "../_hub/live/live.tsx";
import { Mark } from "../_ui/indicators/mark.tsx";

/** Shows the age of the page's numbers: "live, 0.4 s ago". */
export function LivePill() {
  const { state, silentMs } = useLiveness(250);
  return (
    <span className="nums flex items-center gap-1.5 whitespace-nowrap text-soft">
      <Mark tone={state === "live" ? "safe" : state === "stale" ? "risk" : "quiet"} />
      {state === "connecting" || silentMs === null ? (
        // As wide as the text that follows.
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
