"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ChannelView, RuleView } from "#protocol/alerts/alert-views.ts";
import { ALERT_WORDS, SEVERITIES } from "#protocol/alerts/alert-words.ts";
import type { AlertKind } from "#protocol/alerts/alerts.ts";
import { CHANNEL_KINDS } from "#protocol/alerts/channel-kinds.ts";
import { hub } from "../_hub/client.ts";
import { Form, FormFault } from "../_hub/form.tsx";
import { useAction } from "../_hub/use-action.ts";
import { FormEnd } from "../_ui/form-end.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { Field } from "../_ui/field.tsx";
import { TextInput } from "../_ui/text-input.tsx";
import { TextField } from "../_ui/text-field.tsx";
import { Select } from "../_ui/select.tsx";
import { say } from "../_ui/toast.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { emptyRule, formOfRule, readRule, usualValues } from "./rule-form.ts";
import { PARAMETERS } from "./rule-words.ts";

const KINDS = Object.entries(ALERT_WORDS).map(([value, { label }]) => ({ value: value as AlertKind, label }));
const isKind = (value: string): value is AlertKind => Object.hasOwn(ALERT_WORDS, value);

interface RuleDialogProps {
  /** Null makes a new one. */
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
  const toggle = (id: string) =>
    change({
      channelIds: form.channelIds.includes(id) ? form.channelIds.filter((one) => one !== id) : [...form.channelIds, id],
    });
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
        <Field label="Condition">
          {(ids) => (
            <Select
              {...ids}
              label="Condition"
              value={form.kind}
              disabled={edited !== null}
              choices={KINDS}
              onChange={(kind) => {
                if (isKind(kind)) change({ kind, values: usualValues(kind) });
              }}
            />
          )}
        </Field>
        <TextField
          label="Name"
          path="rule.name"
          required
          value={form.name}
          maxLength={80}
          placeholder={ALERT_WORDS[form.kind].label}
          onChange={(value) => change({ name: value })}
        />
        {PARAMETERS[form.kind].map(({ key, label, unit }) => (
          <Field key={key} label={label} path={`rule.condition.${key}`} required>
            {(ids) => (
              <span className="flex items-center gap-2">
                <TextInput
                  {...ids}
                  inputMode="decimal"
                  className="nums max-w-28"
                  value={form.values[key] ?? ""}
                  onChange={(event) => change({ values: { ...form.values, [key]: event.target.value } })}
                />
                <span className="text-soft">{unit}</span>
              </span>
            )}
          </Field>
        ))}
        <TextField
          label="Nodes"
          path="rule.scope.nodes"
          hint="A pattern of names: gpu-*. Empty: all."
          kind="code"
          value={form.nodes}
          onChange={(value) => change({ nodes: value })}
        />
        <TextField
          label="Runs"
          path="rule.scope.runs"
          hint="A pattern of names: llama*. Empty: all."
          kind="code"
          value={form.runs}
          onChange={(value) => change({ runs: value })}
        />
        <TextField
          label="Labels"
          hint="Labels that a node has to carry: region=eu, tier=spot"
          path="rule.scope.labels"
          kind="code"
          value={form.labels}
          onChange={(value) => change({ labels: value })}
        />
        <Field label="Severity">
          {(ids) => (
            <Select
              {...ids}
              label="Severity"
              value={form.severity}
              choices={SEVERITIES.map((value) => ({ value, label: value }))}
              onChange={(value) => change({ severity: SEVERITIES.find((one) => one === value) ?? "warning" })}
            />
          )}
        </Field>
        <fieldset className="grid gap-x-4 gap-y-1 py-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
          <legend className="sr-only">Channels</legend>
          <span aria-hidden className="pt-[7px] text-soft">
            Channels
          </span>
          <div className="flex flex-col gap-1 pt-[7px]">
            {channels.length === 0 && <span className="text-soft">None yet: it is shown on the Alerts page only.</span>}
            {channels.map(({ id, channel }) => (
              <label key={id} className="flex items-center gap-2">
                <input
                  type="checkbox"
                  className="accent-accent"
                  checked={form.channelIds.includes(id)}
                  onChange={() => toggle(id)}
                />
                {visibleText(channel.name)} <span className="text-faint">{CHANNEL_KINDS[channel.kind].label}</span>
              </label>
            ))}
          </div>
        </fieldset>
        <Field
          label="Quiet hours"
          hint="Only critical alerts are sent; others wait until quiet hours end."
          path="rule.quiet"
        >
          {(ids) => (
            <span className="flex flex-wrap items-center gap-2 text-soft">
              <TextInput
                {...ids}
                type="time"
                className="max-w-32"
                value={form.quietFrom}
                onChange={(event) => change({ quietFrom: event.target.value })}
              />
              to
              <TextInput
                type="time"
                aria-label="End of the quiet hours"
                className="max-w-32"
                value={form.quietTo}
                onChange={(event) => change({ quietTo: event.target.value })}
              />
              <TextInput
                aria-label="Time zone"
                kind="code"
                className="max-w-44"
                value={form.timeZone}
                onChange={(event) => change({ timeZone: event.target.value })}
              />
            </span>
          )}
        </Field>
        <FormFault />
        <FormEnd word={edited === null ? "Add rule" : "Save"} busyWord="Saving" busy={save.busy} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
