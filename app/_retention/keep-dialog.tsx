"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { KeepControls } from "./keep-controls.tsx";

/** Shows a dialog with all retention controls of one checkpoint. */
export function KeepDialog({ row, onClose }: { row: CheckpointRow; onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Keep ${visibleText(row.run)} ${stepWords(row.step)}`}
      intro="Pinned and tagged checkpoints are always kept, whatever the policy."
    >
      <KeepControls row={row} onGone={onClose} />
    </Dialog>
  );
}
