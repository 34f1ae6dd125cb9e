"use client";
import type { RunRow, NodeState } from "#protocol/wire/views.ts";
import { useNode } from "../_hub/live/live.tsx";

/**
 * Returns the current state of a run from its writer's live row, which the node pages show too. The run's own row is some
 * seconds older and used only when the writer is unknown.
 */
export function useRunStatus(
  run: Pick<RunRow, "name" | "writerNodeId" | "writerState" | "work" | "risk">,
): Pick<RunRow, "work" | "risk"> & { writerState: NodeState | null } {
  const writer = useNode(run.writerNodeId ?? "");
  if (writer === null) return { writerState: run.writerState, work: run.work, risk: run.risk };
  const view = writer.runs.find((one) => one.run === run.name);
  return { writerState: writer.state, work: view?.work ?? run.work, risk: view?.risk ?? run.risk };
}
