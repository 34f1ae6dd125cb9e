"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { setRuleInput, type GroupView } from "#protocol/groups/groups.ts";
import { DEFAULT_QUEUE } from "#protocol/jobs/job-spec.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { CheckLine } from "../_alerts/check-line.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { hub } from "../_hub/queries/client.ts";
import { Button } from "../_ui/controls/button.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

const MINUTE_MS = 60_000;
const USUAL = { min: 0, max: 10, idleMs: 5 * MINUTE_MS, cooldownMs: 10 * MINUTE_MS };

const countOf = (text: string): number => (/^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN);
const minutesOf = (text: string): number => Math.round(Number(text.trim().replace(",", ".")) * MINUTE_MS);

interface RuleDialogProps {
  accountId: string;
  group: GroupView;
  onClose: () => void;
}

/** Shows a form for the rule of a group. */
export function RuleDialog({ accountId, group, onClose }: RuleDialogProps) {
  const client = useQueryClient();
  const { rule } = group;
  const first = rule?.limits ?? USUAL;
  const [queue, setQueue] = useState(rule?.queue ?? DEFAULT_QUEUE);
  const [min, setMin] = useState(String(first.min));
  const [max, setMax] = useState(String(first.max));
  const [idle, setIdle] = useState(String(first.idleMs / MINUTE_MS));
  const [cooldown, setCooldown] = useState(String(first.cooldownMs / MINUTE_MS));
  const [isEnabled, setEnabled] = useState(rule?.isEnabled ?? true);
  const limits = { min: countOf(min), max: countOf(max), idleMs: minutesOf(idle), cooldownMs: minutesOf(cooldown) };
  const read = setRuleInput.safeParse({ accountId, group: group.name, queue: queue.trim(), limits, isEnabled });
  const issueAt = (path: string) =>
    read.success ? undefined : read.error.issues.find((one) => one.path.join(".") === path);
  const errorOf = (path: string, words: string): string | undefined => {
    const issue = issueAt(path);
    return issue === undefined ? undefined : issue.code === "custom" ? issue.message : words;
  };
  const errors = {
    queue: issueAt("queue")?.message,
    "limits.min": errorOf("limits.min", "This is a number from 0 to 500."),
    "limits.max": errorOf("limits.max", "This is a number from 0 to 500."),
    "limits.idleMs": errorOf("limits.idleMs", "These are 0 to 1,440 minutes."),
    "limits.cooldownMs": errorOf("limits.cooldownMs", "These are 0 to 1,440 minutes."),
  };
  const save = useAction(async () => {
    if (read.success) await hub.groups.setRule.mutate(read.data);
  });
  const remove = useAction(() => hub.groups.removeRule.mutate({ accountId, group: group.name }));
  const end = (words: string) => {
    void client.invalidateQueries({ queryKey: ["groups"] });
    say("safe", words);
    onClose();
  };
  const name = visibleText(group.name);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Rule of ${name}`}
      intro="The group grows at once with the jobs of the queue. It shrinks after the cooldown, and never removes an instance with unsaved work."
    >
      <Form
        label="Rule"
        errors={errors}
        actions={[save]}
        onSubmit={() => save.run(undefined, () => end(`The rule of ${name} is saved.`))}
      >
        <TextField label="Queue" path="queue" required value={queue} maxLength={64} onChange={setQueue} />
        <TextField
          label="At least"
          hint="Instances, also while no job waits. At 0 the group is stopped."
          path="limits.min"
          required
          inputMode="numeric"
          value={min}
          onChange={setMin}
        />
        <TextField
          label="At most"
          hint="Instances. Those with unsaved work may exceed this limit."
          path="limits.max"
          required
          inputMode="numeric"
          value={max}
          onChange={setMax}
        />
        <TextField
          label="Idle time"
          hint="Minutes for which a job that ended keeps its instance."
          path="limits.idleMs"
          required
          inputMode="decimal"
          value={idle}
          onChange={setIdle}
        />
        <TextField
          label="Cooldown"
          hint="Minutes for which fewer must be enough before the group shrinks."
          path="limits.cooldownMs"
          required
          inputMode="decimal"
          value={cooldown}
          onChange={setCooldown}
        />
        <CheckLine
          label="Apply this rule"
          hint="Off: it is kept, and the group stays as it is."
          checked={isEnabled}
          onChange={setEnabled}
        />
        <FormFault />
        {remove.fault !== null && <FaultNote fault={remove.fault} />}
        <FormEnd word="Save" busyWord="Saving" busy={save.busy} onCancel={onClose}>
          {rule !== null && (
            <Button
              look="quiet"
              disabled={remove.busy}
              onClick={() => remove.run(undefined, () => end(`The rule of ${name} was removed.`))}
            >
              Remove rule
            </Button>
          )}
        </FormEnd>
      </Form>
    </Dialog>
  );
}
