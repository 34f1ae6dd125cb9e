"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { RuleView } from "#protocol/alerts/alert-views.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { hubNow } from "../_hub/live/live.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Field } from "../_forms/field.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { fullTime } from "../_ui/text/times.ts";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

const HOUR_MS = 3_600_000;
const TIMES = [
  { value: String(HOUR_MS), label: "1 hour" },
  { value: String(4 * HOUR_MS), label: "4 hours" },
  { value: String(24 * HOUR_MS), label: "1 day" },
  { value: String(7 * 24 * HOUR_MS), label: "7 days" },
] as const;

interface MuteDialogProps {
  /** Rule to mute; null mutes all rules. */
  rule: RuleView | null;
  onClose: () => void;
}

/** Mutes a rule for some time. The reason and the end are visible to everybody. */
export function MuteDialog({ rule, onClose }: MuteDialogProps) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [forMs, setForMs] = useState<string>(TIMES[0].value);
  const what = rule === null ? "all rules" : visibleText(rule.rule.name);
  const mute = useAction(() =>
    hub.alerts.mute.mutate({ ruleId: rule?.id ?? null, forMs: Number(forMs), reason: reason.trim() }),
  );
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Mute ${what}`}
      intro="Nothing is sent until then; alerts are still shown here. Alerts that still fire afterwards are sent."
    >
      <Form
        label="Mute"
        errors={{ reason: reason.trim() === "" ? "Say why, for the others." : undefined }}
        actions={[mute]}
        onSubmit={() =>
          mute.run(undefined, ({ mutedUntil }) => {
            void client.invalidateQueries({ queryKey: ["alerts"] });
            say("quiet", `Muted until ${fullTime(mutedUntil ?? hubNow())}.`);
            onClose();
          })
        }
      >
        <TextField
          label="Reason"
          path="reason"
          required
          value={reason}
          maxLength={256}
          placeholder="gpu-7 is being repaired"
          onChange={setReason}
        />
        <Field label="For">
          {(ids) => <Select {...ids} label="For" value={forMs} choices={TIMES} onChange={setForMs} />}
        </Field>
        <FormFault />
        <FormEnd word="Mute" busyWord="Muting" busy={mute.busy} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
