"use client";
import { useQuery } from "@tanstack/react-query";
import { continueQuery } from "../../../_hub/queries/queries.ts";
import { visibleText } from "../../../_ui/text/visible-text.ts";

/** Says from which step the runs of a node continue, by the hub's record. */
export function ContinueAdvice({ nodeId }: { nodeId: string }) {
  const advice = useQuery(continueQuery(nodeId));
  if (advice.data !== undefined) return visibleText(advice.data.text);
  return advice.isError
    ? "The newest safe checkpoints could not be read; the pages of its runs show them."
    : "Reading the newest safe checkpoints of its runs.";
}
