"use client";
import type { CheckpointRow } from "#protocol/views.ts";
import { Panel } from "../_ui/panel.tsx";
import { KeepControls } from "./keep-controls.tsx";
import { TrashLine } from "./trash-line.tsx";

/** What is said about keeping a checkpoint, on its own page: pin, tags, note, or where it stands in the trash. */
export function KeepPanel({ row }: { row: CheckpointRow }) {
  const { trash } = row.keeping;
  if (row.state === "trashed" && trash !== null) {
    const { id: checkpointId, run, step, writerEpoch, sizeBytes } = row;
    return (
      <Panel title="In the trash">
        <ul>
          <TrashLine row={{ checkpointId, run, step, writerEpoch, sizeBytes, ...trash }} />
        </ul>
      </Panel>
    );
  }
  if (row.state !== "complete") return null;
  return (
    <Panel title="Keeping">
      <div className="px-4 py-1.5">
        <KeepControls row={row} />
      </div>
    </Panel>
  );
}
