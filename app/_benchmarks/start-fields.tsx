"use client";
import { useState } from "react";
import { ENGINE_NAMES, ENGINES, type EngineName } from "#protocol/benchmarks/engines.ts";
import { BENCH_PRESETS } from "#protocol/benchmarks/presets.ts";
import type { EngineNeeds } from "#protocol/benchmarks/views.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { Field } from "../_forms/field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { useFormField } from "../_forms/use-form-field.ts";
import { Select } from "../_ui/controls/select.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { needWords } from "./engine-needs.ts";
import { presetFields, type StartForm } from "./start-form.ts";

const PRESETS = Object.entries(BENCH_PRESETS).map(([value, { says, sizeBytes, partBytes, connections }]) => ({
  value,
  label: value === "guide" ? "SaladCloud guide" : value,
  note: `${says}; holds up to ${formatBytes(Math.min(sizeBytes, partBytes * connections))} of memory`,
}));
const WAYS = [
  { value: "both", label: "Up and down" },
  { value: "up", label: "Up only" },
  { value: "down", label: "Down only" },
];
const toggled = <T,>(list: readonly T[], item: T): T[] =>
  list.includes(item) ? list.filter((one) => one !== item) : [...list, item];

interface StartFieldsProps {
  form: StartForm;
  onChange: (changes: Partial<StartForm>) => void;
}

/** Fields for the name of a benchmark and its nodes. */
export function NodeFields({ form, onChange }: StartFieldsProps) {
  return (
    <>
      <TextField
        label="Name"
        value={form.name}
        maxLength={128}
        placeholder="All tools, all buckets"
        onChange={(value) => onChange({ name: value })}
      />
      <TextField
        label="Nodes"
        hint="Online ones, by the pattern of their names; all when left empty."
        path="nodes"
        kind="code"
        value={form.nodes}
        placeholder="gpu-*"
        onChange={(value) => onChange({ nodes: value })}
      />
      <TextField
        label="With label"
        path="label"
        kind="code"
        value={form.label}
        placeholder="region=us-east"
        onChange={(value) => onChange({ label: value })}
      />
      <TextField
        label="Sample"
        hint="At most so many of them, chosen at random."
        path="sample"
        inputMode="numeric"
        className="nums max-w-28"
        value={form.sample}
        placeholder="all"
        onChange={(value) => onChange({ sample: value })}
      />
    </>
  );
}

interface TargetFieldsProps extends StartFieldsProps {
  profiles: readonly ProfileView[];
  engines: readonly EngineName[];
  /** Missing prerequisites of each engine on the chosen nodes; undefined until the hub has answered. */
  needs: readonly EngineNeeds[] | undefined;
}

/** Fields for the buckets and engines to compare. */
export function TargetFields({ form, profiles, engines, needs, onChange }: TargetFieldsProps) {
  return (
    <>
      <Choices
        legend="Buckets"
        path="profileIds"
        choices={profiles.map(({ id: value, profile }) => ({ value, label: visibleText(profile.name) }))}
        chosen={form.profileIds}
        onToggle={(value) => onChange({ profileIds: toggled(form.profileIds, value) })}
      />
      <Choices
        legend="Engines"
        path="engines"
        choices={ENGINE_NAMES.map((value) => {
          const one = needs?.find(({ engine: name }) => name === value);
          return { value, label: ENGINES[value].title, note: one === undefined ? null : needWords(one) };
        })}
        chosen={engines}
        onToggle={(value) => {
          const engine = ENGINE_NAMES.find((name) => name === value);
          if (engine !== undefined) onChange({ engines: toggled(engines, engine) });
        }}
      />
    </>
  );
}

/** Fields for the load: directions, sizes, connections and rounds. */
export function LoadFields({ form, onChange }: StartFieldsProps) {
  const [preset, setPreset] = useState("guide");
  return (
    <>
      <Field label="Directions">
        {(ids) => (
          <Select
            {...ids}
            label="Directions"
            value={form.directions}
            choices={WAYS}
            onChange={(value) => onChange({ directions: value === "up" || value === "down" ? value : "both" })}
          />
        )}
      </Field>
      <Field label="Sizes like">
        {(ids) => (
          <Select
            {...ids}
            label="Sizes like"
            value={preset}
            choices={PRESETS}
            onChange={(value) => {
              setPreset(value);
              onChange(presetFields(value) ?? {});
            }}
          />
        )}
      </Field>
      <Number label="Size" value={form.size} path="size" onChange={(size) => onChange({ size })} />
      <Number label="Part size" value={form.part} path="part" onChange={(part) => onChange({ part })} />
      <Number
        label="Connections"
        value={form.connections}
        path="connections"
        onChange={(connections) => onChange({ connections })}
      />
      <Number label="Rounds" value={form.rounds} path="rounds" onChange={(rounds) => onChange({ rounds })} />
      <Number
        label="At a time"
        hint="Nodes that a bucket serves at the same time."
        value={form.perBucket}
        path="perBucket"
        onChange={(perBucket) => onChange({ perBucket })}
      />
    </>
  );
}

function Choices(props: {
  legend: string;
  path: string;
  choices: readonly { value: string; label: string; note?: string | null }[];
  chosen: readonly string[];
  onToggle: (value: string) => void;
}) {
  const { legend, path, choices, chosen, onToggle } = props;
  const { id: name, noteId, error, changed } = useFormField(path);
  return (
    <fieldset onChange={changed} className="grid gap-x-4 gap-y-1 py-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
      <legend className="contents">
        <span className="pt-1 text-soft">{legend}</span>
      </legend>
      <div className="min-w-0">
        <div className="grid grid-cols-2 gap-x-4 sm:grid-cols-3">
          {choices.map(({ value, label, note = null }) => (
            <div key={value} className="min-w-0">
              <label className="flex min-w-0 items-center gap-2 py-1">
                <input
                  type="checkbox"
                  className="size-4 shrink-0 accent-accent"
                  aria-describedby={note === null ? undefined : `${name}-${value}`}
                  aria-errormessage={error === undefined ? undefined : noteId}
                  aria-invalid={error === undefined ? undefined : true}
                  checked={chosen.includes(value)}
                  onChange={() => onToggle(value)}
                />
                <span className="truncate">{label}</span>
              </label>
              {note !== null && (
                <p id={`${name}-${value}`} className="-mt-1 pl-6 text-12 text-faint">
                  {note}
                </p>
              )}
            </div>
          ))}
        </div>
        {error !== undefined && (
          <p id={noteId} className="mt-1 text-12 text-lost">
            {error}
          </p>
        )}
      </div>
    </fieldset>
  );
}

function Number(props: {
  label: string;
  hint?: string;
  value: string;
  path: string;
  onChange: (value: string) => void;
}) {
  const { label, hint, value, path, onChange } = props;
  return (
    <TextField
      label={label}
      hint={hint}
      path={path}
      required
      className="nums max-w-28"
      value={value}
      onChange={onChange}
    />
  );
}
