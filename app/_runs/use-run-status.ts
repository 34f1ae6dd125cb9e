"use client";
import type { NodeState } from "#protocol/node-status.ts";
import type { RunRow } from "#protocol/views.ts";
import { useNode } from "../_hub/live.tsx";

/**
 * What a run is now. What its writer says stands in the live row of that node, which pages of nodes show as well; the row
 * that was asked for is older by some seconds, and counts only where the writer is not known.
 */
export function useRunStatus(
  run: Pick<RunRow, "name" | "writerNodeId" | "writerState" | "work" | "risk">,
): Pick<RunRow, "work" | "risk"> & { writerState: NodeState | null } {
  const writer = useNode(run.writerNodeId ?? "");
  if (writer === null) return { writerState: run.writerState, work: run.work, risk: run.risk };
  const view = writer.runs.find((one) => one.run === run.name);
  return { writerState: writer.state, work: view?.work ?? run.work, risk: view?.risk ?? run.risk };
}
