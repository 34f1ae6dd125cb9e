"use client";
import type { RunRow } from "#protocol/wire/views.ts";
import { useNode } from "../_hub/live/live.tsx";
import { tideOf, tideWords } from "../_hub/risk-words.ts";
import { TideLine } from "../_ui/indicators/tide-line.tsx";

interface RunTideProps {
  run: Pick<RunRow, "name" | "writerNodeId">;
  /** `line and words` adds the amounts beside the gauge where there is room. */
  show?: "line" | "line and words";
}

/** Shows the tide gauge of a run from its writer's report; renders nothing without a writer. */
export function RunTide({ run, show = "line" }: RunTideProps) {
  const writer = useNode(run.writerNodeId ?? "");
  const view = writer?.runs.find((one) => one.run === run.name);
  if (writer === null || view === undefined) return null;
  const tide = tideOf(view, writer.state);
  return (
    <div className="dim-when-stale flex items-center gap-3">
      <TideLine tide={tide} label={tideWords(tide)} />
      {show === "line and words" && (
        <span aria-hidden className="nums text-12 text-faint max-md:hidden">
          {tideWords(tide)}
        </span>
      )}
    </div>
  );
}
