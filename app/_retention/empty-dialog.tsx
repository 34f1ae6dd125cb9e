"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { EmptiedView, KeptVersionsView, TrashRow } from "#protocol/retention/keeping.ts";
import { formatCount } from "#protocol/base/units.ts";
import { hub } from "../_hub/queries/client.ts";
import { ConfirmDialog } from "../_hub/actions/confirm-dialog.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { versionsQuery } from "./retention-queries.ts";

const count = (many: number, rest: string): string[] => (many === 0 ? [] : [`${formatCount(many)} ${rest}`]);

/** Returns the outcome of emptying the trash, and where the deletion frees nothing. */
export function emptiedWords(
  { begun, tooYoung, kept, gone }: EmptiedView,
  buckets: readonly KeptVersionsView[],
): string {
  const versions = begun === 0 ? null : versionsWords(buckets);
  const words = [
    ...count(begun, "being deleted"),
    ...count(tooYoung, "written less than 25 hours ago: the hub deletes them when their time is over"),
    ...count(kept, "pinned in the bucket"),
    ...count(gone, "not in the trash any more"),
  ];
  return `${words.join("; ")}.${versions === null ? "" : ` ${versions}`}`;
}

const listOf = (names: readonly string[], one: string, many: string): string =>
  names.length === 1 ? `The bucket ${names[0]} ${one}` : `The buckets ${names.join(", ")} ${many}`;

/** Says in which buckets a deletion frees no space, or not all; null when all free it. */
export function versionsWords(buckets: readonly KeptVersionsView[]): string | null {
  const namesOf = (wanted: KeptVersionsView["keepsVersions"]) =>
    buckets.flatMap(({ bucket, keepsVersions }) => (keepsVersions === wanted ? [visibleText(bucket)] : []));
  const [all, some] = [namesOf(true), namesOf("some")];
  const words = [
    ...(all.length === 0
      ? []
      : [
          `${listOf(all, "keeps", "keep")} old versions: nothing is freed there until a rule of the bucket, or the end of its lock, removes them.`,
        ]),
    ...(some.length === 0
      ? []
      : [
          `${listOf(some, "has", "have")} suspended versioning: what was written before that stays as an old version and frees nothing.`,
        ]),
  ];
  return words.length === 0 ? null : words.join(" ");
}

/** Asks for confirmation before the trash is emptied, which cannot be undone. */
export function EmptyDialog({ run, rows, onClose }: { run: string; rows: readonly TrashRow[]; onClose: () => void }) {
  const client = useQueryClient();
  const ids = rows.slice(0, 1_000).map(({ checkpointId }) => checkpointId);
  const bytes = rows.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const versions = useQuery(versionsQuery(run));
  const kept = versionsWords(versions.data ?? []);
  return (
    <ConfirmDialog
      title="Empty the trash now?"
      words={{ button: "Delete for good", busy: "Deleting", keep: "Keep them" }}
      run={async () => {
        // A bucket that does not answer is not named; the deletion does not wait for it.
        const asked = client.ensureQueryData(versionsQuery(run)).catch(() => []);
        const emptied = await hub.keeping.emptyNow.mutate({ ids });
        say("safe", emptiedWords(emptied, await asked));
      }}
      onDone={() => void client.invalidateQueries({ queryKey: ["runs"] })}
      onClose={onClose}
    >
      {formatCount(rows.length)} {rows.length === 1 ? "checkpoint" : "checkpoints"}, {formatBytes(bytes)}, are deleted
      from the bucket and cannot be brought back. Those written less than 25 hours ago stay for now.
      {kept !== null && ` ${kept}`}
    </ConfirmDialog>
  );
}
