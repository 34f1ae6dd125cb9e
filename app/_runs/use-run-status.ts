"use client";
import type { RunRow, NodeState } from "#protocol/wire/views.ts";
import { useNode } from "../_hub/live/live.tsx";

/**
 * Returns the state of a run now, from the live row of its writer, which the pages of nodes show as well. The row of the run is
 * some seconds older, and is used only where the writer is not known.
 */
export function useRunStatus(
  run: Pick<RunRow, "name" | "writerNodeId" | "writerState" | "work" | "risk">,
): Pick<RunRow, "work" | "risk"> & { writerState: NodeState | null } {
  const writer = useNode(run.writerNodeId ?? "");
  if (writer === null) return { writerState: run.writerState, work: run.work, risk: run.risk };
  const view = writer.runs.find((one) => one.run === run.name);
  return { writerState: writer.state, work: view?.work ?? run.work, risk: view?.risk ?? run.risk };
}
