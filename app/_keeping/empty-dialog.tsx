"use client";
import { useQueryClient } from "@tanstack/react-query";
import type { EmptiedView, TrashRow } from "#protocol/keeping.ts";
import { formatCount } from "#protocol/units.ts";
import { hub } from "../_hub/client.ts";
import { ConfirmDialog } from "../_hub/confirm-dialog.tsx";
import { say } from "../_ui/toast.tsx";
import { formatBytes } from "../_ui/sizes.ts";

const count = (many: number, rest: string): string[] => (many === 0 ? [] : [`${formatCount(many)} ${rest}`]);

/** What became of the wish to empty the trash, in one sentence. */
export function emptiedWords({ begun, tooYoung, kept, gone }: EmptiedView): string {
  const words = [
    ...count(begun, "being deleted"),
    ...count(tooYoung, "written less than 25 hours ago: the hub deletes them when their time is over"),
    ...count(kept, "pinned in the bucket"),
    ...count(gone, "not in the trash any more"),
  ];
  return `${words.join("; ")}.`;
}

/** Asks before what cannot be undone. */
export function EmptyDialog({ rows, onClose }: { rows: readonly TrashRow[]; onClose: () => void }) {
  const client = useQueryClient();
  const ids = rows.slice(0, 1_000).map(({ checkpointId }) => checkpointId);
  const bytes = rows.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return (
    <ConfirmDialog
      title="Empty the trash now?"
      words={{ button: "Delete for good", busy: "Deleting", keep: "Keep them" }}
      run={async () => say("safe", emptiedWords(await hub.keeping.emptyNow.mutate({ ids })))}
      onDone={() => void client.invalidateQueries({ queryKey: ["runs"] })}
      onClose={onClose}
    >
      {formatCount(rows.length)} {rows.length === 1 ? "checkpoint" : "checkpoints"}, {formatBytes(bytes)}, are deleted
      from the bucket and cannot be brought back. Those written less than 25 hours ago stay for now.
    </ConfirmDialog>
  );
}
