"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ChannelView, RuleView } from "#protocol/alerts/alert-views.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { FormEnd } from "../_forms/form-end.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ChannelFields, ConditionFields, QuietHoursField, ScopeFields } from "./rule-fields.tsx";
import { emptyRule, formOfRule, readRule } from "./rule-form.ts";

interface RuleDialogProps {
  /** The rule to edit; null creates one. */
  edited: RuleView | null;
  channels: readonly ChannelView[];
  onClose: () => void;
}

export function RuleDialog({ edited, channels, onClose }: RuleDialogProps) {
  const client = useQueryClient();
  const here = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const usual = channels.filter(({ channel }) => channel.isDefault).map(({ id }) => id);
  const [form, setForm] = useState(() => (edited === null ? emptyRule(here, usual) : formOfRule(edited, here)));
  const read = readRule(form, edited?.rule.isEnabled ?? true);
  const save = useAction(async () => {
    if (!read.ok) return null;
    if (edited === null) await hub.alerts.rules.create.mutate({ rule: read.rule });
    else await hub.alerts.rules.update.mutate({ id: edited.id, version: edited.version, rule: read.rule });
    return read.rule.name;
  });
  const change = (part: Partial<typeof form>) => setForm({ ...form, ...part });
  return (
    <Dialog open onClose={onClose} title={edited === null ? "Add alert rule" : `Edit ${visibleText(edited.rule.name)}`}>
      <Form
        label="Alert rule"
        errors={read.ok ? {} : read.errors}
        actions={[save]}
        onSubmit={() =>
          save.run(undefined, (name) => {
            if (name === null) return;
            void client.invalidateQueries({ queryKey: ["alerts"] });
            say("safe", `${name} is saved.`);
            onClose();
          })
        }
      >
        <ConditionFields form={form} isNew={edited === null} onChange={change} />
        <ScopeFields form={form} onChange={change} />
        <ChannelFields form={form} channels={channels} onChange={change} />
        <QuietHoursField form={form} onChange={change} />
        <FormFault />
        <FormEnd word={edited === null ? "Add rule" : "Save"} busyWord="Saving" busy={save.busy} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
