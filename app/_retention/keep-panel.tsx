"use client";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Panel } from "../_ui/layout/panel.tsx";

const KeepControls = onDemand(() => import("./keep-controls.tsx").then((module) => module.KeepControls));
const TrashLine = onDemand(() => import("./trash-line.tsx").then((module) => module.TrashLine));

/** Shows the retention controls of a checkpoint, or its place in the trash. */
export function KeepPanel({ row }: { row: CheckpointRow }) {
  const { trash } = row.keeping;
  if (row.state === "trashed" && trash !== null) {
    const { id: checkpointId, run, step, writerEpoch, sizeBytes } = row;
    return (
      <Panel title="In the trash">
        <ul className="min-h-[57px]">
          <TrashLine row={{ checkpointId, run, step, writerEpoch, sizeBytes, ...trash }} />
        </ul>
      </Panel>
    );
  }
  if (row.state !== "complete") return null;
  // Reserves the height of the controls, which load on demand, so that nothing below moves.
  return (
    <Panel title="Retention">
      <div className="min-h-[302px] px-4 py-1.5 sm:min-h-[237px]">
        <KeepControls row={row} />
      </div>
    </Panel>
  );
}
