"use client";
import { Field } from "../_forms/field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import type { CommandChoice, CommandForm } from "./command-form.ts";

const ALL_RUNS = "all";
const DIRECTIONS = [
  { value: "both", label: "Both ways" },
  { value: "up", label: "Uploads" },
  { value: "down", label: "Restores" },
] as const;
const PRIORITIES = [
  { value: "high", label: "High" },
  { value: "normal", label: "Normal" },
  { value: "low", label: "Low" },
] as const;

interface CommandFieldsProps {
  form: CommandForm;
  choice: CommandChoice | undefined;
  /** Names of the runs that the command can concern. */
  runs: readonly string[];
  onChange: (changes: Partial<CommandForm>) => void;
}

/** Shows the fields that a command of the chosen kind needs. */
export function CommandFields({ form, choice, runs, onChange }: CommandFieldsProps) {
  const has = (field: string): boolean => choice?.fields.some((one) => one === field) === true;
  return (
    <>
      {has("run") && (
        <Field label="Run" path="run">
          {(ids) => (
            <Select
              {...ids}
              value={form.run === "" ? (form.kind === "priority" ? null : ALL_RUNS) : form.run}
              placeholder="Choose the run"
              choices={[
                ...(form.kind === "priority" ? [] : [{ value: ALL_RUNS, label: "All runs of the node" }]),
                ...runs.map((run) => ({ value: run, label: visibleText(run) })),
              ]}
              onChange={(run) => onChange({ run: run === ALL_RUNS ? "" : run })}
            />
          )}
        </Field>
      )}
      {has("direction") && (
        <Field label="Direction">
          {(ids) => (
            <Select
              {...ids}
              value={form.direction}
              choices={DIRECTIONS}
              onChange={(value) =>
                onChange({ direction: DIRECTIONS.find((one) => one.value === value)?.value ?? form.direction })
              }
            />
          )}
        </Field>
      )}
      {has("rates") && (
        <>
          <TextField
            label="Up"
            hint="20Mbit, 2.5MB/s, or none"
            path="up"
            value={form.up}
            onChange={(value) => onChange({ up: value })}
            kind="code"
          />
          <TextField
            label="Down"
            hint="The same"
            path="down"
            value={form.down}
            onChange={(value) => onChange({ down: value })}
            kind="code"
          />
        </>
      )}
      {has("priority") && (
        <Field label="Priority">
          {(ids) => (
            <Select
              {...ids}
              value={form.priority}
              choices={PRIORITIES}
              onChange={(value) =>
                onChange({ priority: PRIORITIES.find((one) => one.value === value)?.value ?? form.priority })
              }
            />
          )}
        </Field>
      )}
      {has("grace") && (
        <TextField
          label="Grace"
          hint="How long uploads may still take: 60s, 5m"
          path="grace"
          value={form.grace}
          onChange={(value) => onChange({ grace: value })}
          kind="code"
        />
      )}
    </>
  );
}
