"use client";
import type { ReactNode } from "react";
import { Field } from "../_forms/field.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import type { PolicyForm } from "./policy-form.ts";

interface NumberInputProps {
  ids: object;
  value: string;
  onType: (value: string) => void;
  /** Unit of the number. */
  children: ReactNode;
}

function NumberInput({ ids, value, onType, children }: NumberInputProps) {
  return (
    <span className="flex flex-wrap items-center gap-2 text-soft">
      <TextInput
        {...ids}
        inputMode="decimal"
        className="nums max-w-28"
        value={value}
        onChange={(event) => onType(event.target.value)}
      />
      {children}
    </span>
  );
}

interface PolicyFieldsProps {
  form: PolicyForm;
  /** Metric names in the run's checkpoints. */
  metrics: readonly string[];
  onChange: (part: Partial<PolicyForm>) => void;
}

/** Fields for the rules of a policy. A checkpoint is kept when any rule keeps it; an empty rule keeps nothing. */
export function PolicyFields({ form, metrics, onChange }: PolicyFieldsProps) {
  const set = (field: keyof PolicyForm) => (value: string) => onChange({ [field]: value });
  return (
    <>
      <Field label="The last" path="last">
        {(ids) => (
          <NumberInput ids={ids} value={form.last} onType={set("last")}>
            checkpoints
          </NumberInput>
        )}
      </Field>
      <Field label="One every" hint="Keeps the first in each interval." path="everySteps">
        {(ids) => (
          <NumberInput ids={ids} value={form.everySteps} onType={set("everySteps")}>
            steps
          </NumberInput>
        )}
      </Field>
      <Field label="And one every" path="everyMs">
        {(ids) => (
          <NumberInput ids={ids} value={form.every} onType={set("every")}>
            <span className="w-28">
              <Select
                label="Unit of time"
                value={form.everyUnit}
                choices={[
                  { value: "hours", label: "hours" },
                  { value: "days", label: "days" },
                ]}
                onChange={(value) => onChange({ everyUnit: value === "days" ? "days" : "hours" })}
              />
            </span>
          </NumberInput>
        )}
      </Field>
      <Field
        label="The best"
        hint={metrics.length === 0 ? "No checkpoint has a metric yet." : `Metrics here: ${metrics.join(", ")}`}
        path="best"
      >
        {(ids) => (
          <span className="flex flex-wrap items-center gap-2 text-soft">
            <TextInput
              {...ids}
              inputMode="numeric"
              className="nums max-w-20"
              value={form.bestCount}
              onChange={(event) => onChange({ bestCount: event.target.value })}
            />
            with the
            <span className="w-28">
              <Select
                label="Which end"
                value={form.want}
                choices={[
                  { value: "min", label: "lowest" },
                  { value: "max", label: "highest" },
                ]}
                onChange={(value) => onChange({ want: value === "max" ? "max" : "min" })}
              />
            </span>
            <TextInput
              aria-label="Metric"
              kind="code"
              className="max-w-36"
              placeholder="loss"
              value={form.metric}
              onChange={(event) => onChange({ metric: event.target.value })}
            />
          </span>
        )}
      </Field>
      <TextField
        label="At most"
        hint="The oldest go first. Protected checkpoints may exceed this limit."
        path="mostBytes"
        className="nums max-w-40"
        placeholder="500 GB"
        value={form.mostBytes}
        onChange={(value) => onChange({ mostBytes: value })}
      />
      <Field label="Trash keeps" path="trashMs">
        {(ids) => (
          <NumberInput ids={ids} value={form.trashDays} onType={set("trashDays")}>
            days
          </NumberInput>
        )}
      </Field>
    </>
  );
}
