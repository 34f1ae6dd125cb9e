"use client";
import { useQuery } from "@tanstack/react-query";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { checkpointQuery } from "../_hub/queries/queries.ts";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { damagedFiles } from "../_verifying/damage-words.ts";
import { PickList } from "./pick-list.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";

interface FileChoiceProps {
  checkpoint: CheckpointRow;
  files: readonly string[];
  onChange: (files: readonly string[]) => void;
}

/** Selects files of a checkpoint. Damaged files cannot be selected. */
export function FileChoice({ checkpoint, files, onChange }: FileChoiceProps) {
  const view = useQuery(checkpointQuery(checkpoint.id));
  if (view.isError && view.data === undefined)
    return <FaultNote fault={faultOf(view.error)} onRetry={() => void view.refetch()} />;
  if (view.data === undefined) return <Skeleton className="my-1.5 h-24 w-full" />;
  const damaged = checkpoint.damage === null ? new Set<string>() : damagedFiles(checkpoint.damage);
  return (
    <PickList
      label="Files"
      items={view.data.files.map((file) => ({
        id: file.path,
        label: visibleText(file.path),
        note: formatBytes(file.sizeBytes),
        whyNot: damaged === null || damaged.has(file.path) ? "damaged" : null,
      }))}
      picked={new Set(files)}
      onChange={(picked) => onChange([...picked])}
    />
  );
}
