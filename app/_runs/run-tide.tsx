"use client";
import type { RunRow } from "#protocol/views.ts";
import { useNode } from "../_hub/live.tsx";
import { tideOf, tideWords } from "../_hub/risk-words.ts";
import { TideLine } from "../_ui/tide-line.tsx";

/** The tide line of a run, as its present writer sees it; nothing when nobody writes it. */
export function RunTide({ run }: { run: Pick<RunRow, "name" | "writerNodeId"> }) {
  const writer = useNode(run.writerNodeId ?? "");
  const view = writer?.runs.find((one) => one.run === run.name);
  if (view === undefined) return null;
  const tide = tideOf(view);
  return (
    <div className="dim-when-stale">
      <TideLine tide={tide} label={tideWords(tide)} />
    </div>
  );
}
