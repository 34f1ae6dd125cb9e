"use client";
import type { ChannelView } from "#protocol/alerts/alert-views.ts";
import { ALERT_WORDS } from "#protocol/alerts/alert-words.ts";
import { SEVERITIES } from "#protocol/alerts/severities.ts";
import type { AlertKind } from "#protocol/alerts/alerts.ts";
import { CHANNEL_KINDS } from "#protocol/alerts/channel-kinds.ts";
import { Field } from "../_forms/field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { usualValues, type RuleForm } from "./rule-form.ts";
import { PARAMETERS } from "./rule-words.ts";

const KINDS = Object.entries(ALERT_WORDS).map(([value, { label }]) => ({ value: value as AlertKind, label }));
const isKind = (value: string): value is AlertKind => Object.hasOwn(ALERT_WORDS, value);

interface RuleFieldsProps {
  form: RuleForm;
  onChange: (part: Partial<RuleForm>) => void;
}

/** Fields for the condition of a rule, its name and its thresholds. */
export function ConditionFields({ form, isNew, onChange }: RuleFieldsProps & { isNew: boolean }) {
  return (
    <>
      <Field label="Condition">
        {(ids) => (
          <Select
            {...ids}
            label="Condition"
            value={form.kind}
            disabled={!isNew}
            choices={KINDS}
            onChange={(kind) => {
              if (isKind(kind)) onChange({ kind, values: usualValues(kind) });
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
        onChange={(value) => onChange({ name: value })}
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
                onChange={(event) => onChange({ values: { ...form.values, [key]: event.target.value } })}
              />
              <span className="text-soft">{unit}</span>
            </span>
          )}
        </Field>
      ))}
    </>
  );
}

/** Fields for the nodes and runs that a rule covers, and for the severity of its alerts. */
export function ScopeFields({ form, onChange }: RuleFieldsProps) {
  return (
    <>
      <TextField
        label="Nodes"
        path="rule.scope.nodes"
        hint="A pattern of names: gpu-*. Empty: all."
        kind="code"
        value={form.nodes}
        onChange={(value) => onChange({ nodes: value })}
      />
      <TextField
        label="Runs"
        path="rule.scope.runs"
        hint="A pattern of names: llama*. Empty: all."
        kind="code"
        value={form.runs}
        onChange={(value) => onChange({ runs: value })}
      />
      <TextField
        label="Labels"
        hint="Labels that a node must have: region=eu, tier=spot"
        path="rule.scope.labels"
        kind="code"
        value={form.labels}
        onChange={(value) => onChange({ labels: value })}
      />
      <Field label="Severity">
        {(ids) => (
          <Select
            {...ids}
            label="Severity"
            value={form.severity}
            choices={SEVERITIES.map((value) => ({ value, label: value }))}
            onChange={(value) => onChange({ severity: SEVERITIES.find((one) => one === value) ?? "warning" })}
          />
        )}
      </Field>
    </>
  );
}

/** Fields for the channels that get a rule's alerts. */
export function ChannelFields({ form, channels, onChange }: RuleFieldsProps & { channels: readonly ChannelView[] }) {
  const toggle = (id: string) =>
    onChange({
      channelIds: form.channelIds.includes(id) ? form.channelIds.filter((one) => one !== id) : [...form.channelIds, id],
    });
  return (
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
  );
}

/** Fields for the hours in which only critical alerts are sent. */
export function QuietHoursField({ form, onChange }: RuleFieldsProps) {
  return (
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
            onChange={(event) => onChange({ quietFrom: event.target.value })}
          />
          to
          <TextInput
            type="time"
            aria-label="End of the quiet hours"
            className="max-w-32"
            value={form.quietTo}
            onChange={(event) => onChange({ quietTo: event.target.value })}
          />
          <TextInput
            aria-label="Time zone"
            kind="code"
            className="max-w-44"
            value={form.timeZone}
            onChange={(event) => onChange({ timeZone: event.target.value })}
          />
        </span>
      )}
    </Field>
  );
}
