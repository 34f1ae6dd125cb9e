"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { setQueueCapsInput, type JobQueueRow } from "#protocol/jobs/job-views.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { hub } from "../_hub/queries/client.ts";
import { say } from "../_ui/feedback/toast.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

const WRONG = "A whole number from 1, or nothing.";
const textOf = (cap: number | null): string => (cap === null ? "" : String(cap));
const capOf = (text: string): number | null => (text.trim() === "" ? null : Number(text.trim()));

/** A form for the caps of a queue. */
export function CapsDialog({ row, onClose }: { row: JobQueueRow; onClose: () => void }) {
  const client = useQueryClient();
  const { queue } = row;
  const [running, setRunning] = useState(textOf(row.mostRunning));
  const [perOwner, setPerOwner] = useState(textOf(row.mostPerOwner));
  const read = setQueueCapsInput.safeParse({ queue, mostRunning: capOf(running), mostPerOwner: capOf(perOwner) });
  const errorAt = (path: string) =>
    !read.success && read.error.issues.some((issue) => issue.path[0] === path) ? WRONG : undefined;
  const save = useAction(async () => {
    if (read.success) await hub.jobs.setQueueCaps.mutate(read.data);
  });
  const name = visibleText(queue);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Caps of ${name}`}
      intro="Jobs above a cap wait in their order. Jobs that run above a new cap go on."
    >
      <Form
        label="Caps"
        errors={{ mostRunning: errorAt("mostRunning"), mostPerOwner: errorAt("mostPerOwner") }}
        actions={[save]}
        onSubmit={() =>
          save.run(undefined, () => {
            void client.invalidateQueries({ queryKey: ["jobs"] });
            say("safe", `The caps of ${name} are saved.`);
            onClose();
          })
        }
      >
        <TextField
          label="Running"
          hint="Most jobs of the queue at a time. Empty: any number."
          path="mostRunning"
          inputMode="numeric"
          value={running}
          onChange={setRunning}
        />
        <TextField
          label="Of one person"
          hint="Most running jobs of one person in the queue. Empty: any number."
          path="mostPerOwner"
          inputMode="numeric"
          value={perOwner}
          onChange={setPerOwner}
        />
        <FormFault />
        <FormEnd word="Save" busyWord="Saving" busy={save.busy} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
