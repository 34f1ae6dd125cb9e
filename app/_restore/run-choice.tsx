"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQuery } from "@tanstack/react-query";
import { Field } from "../_forms/field.tsx";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { faultOf } from "../_hub/faults/fault-of.ts";
import { runsQuery } from "../_hub/queries/queries.ts";
import { Select } from "../_ui/controls/select.tsx";
import { Empty } from "../_ui/layout/panel.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Asks for the run when the dialog was opened at a node. The newest run with a complete checkpoint comes first. */
export function RunChoice({ value, onChange }: { value: string | null; onChange: (checkpointId: string) => void }) {
  const runs = useQuery(runsQuery());
  if (runs.isError && runs.data === undefined)
    return <FaultNote fault={faultOf(runs.error)} onRetry={() => void runs.refetch()} />;
  if (runs.data === undefined) return <Skeleton className="h-9 w-full" />;
  const complete = runs.data
    .filter((run) => run.newestCheckpointId !== null)
    .sort((a, b) => (b.newestAt ?? 0) - (a.newestAt ?? 0));
  if (complete.length === 0) return <Empty title="Nothing to restore yet">No run has a complete checkpoint.</Empty>;
  return (
    <Field label="Run">
      {(ids) => (
        <Select
          {...ids}
          label="Run"
          value={value}
          placeholder="Choose a run"
          onChange={onChange}
          choices={complete.map((run) => ({
            value: run.newestCheckpointId ?? "",
            label: visibleText(run.name),
            note: `${stepWords(run.newestStep ?? 0)}, newest complete`,
          }))}
        />
      )}
    </Field>
  );
}
