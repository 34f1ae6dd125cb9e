"use client";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useGo } from "../_ui/going.tsx";
import { useId, useState } from "react";
import { ENGINE_NAMES, ENGINES } from "#protocol/benchmarks/engines.ts";
import { BENCH_PRESETS } from "#protocol/benchmarks/presets.ts";
import type { EngineNeeds } from "#protocol/benchmarks/views.ts";
import { hub } from "../_hub/client.ts";
import { FaultNote } from "../_hub/fault-note.tsx";
import { profilesQuery } from "../_hub/queries.ts";
import { newRequestId, useAction } from "../_hub/use-action.ts";
import { FormEnd } from "../_ui/form-end.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { Field } from "../_ui/field.tsx";
import { TextField } from "../_ui/text-field.tsx";
import { Select } from "../_ui/select.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { needWords, runnable } from "./engine-needs.ts";
import { PreviewNote } from "./preview-note.tsx";
import { FIRST_FORM, presetFields, readForm, type StartForm } from "./start-form.ts";
import { formatBytes } from "../_ui/sizes.ts";

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
/** Of the seed: 32 bits. */
const MOST_SEED = 4_294_967_296;

const toggled = <T,>(list: readonly T[], item: T): T[] =>
  list.includes(item) ? list.filter((one) => one !== item) : [...list, item];

/** Asks what is to be compared where, and says what it would move and cost before anything begins. */
export function StartDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const go = useGo();
  const profiles = useQuery(profilesQuery()).data ?? [];
  const [form, setForm] = useState<StartForm>(FIRST_FORM);
  const [preset, setPreset] = useState("guide");
  const [id] = useState(newRequestId);
  const set = (changes: Partial<StartForm>) => setForm((before) => ({ ...before, ...changes }));
  const [needs, setNeeds] = useState<readonly EngineNeeds[]>();
  const engines = form.engines ?? runnable(needs);
  const found = readForm(form, engines);
  const read = "read" in found ? found.read : null;
  const problems = "problems" in found ? found.problems : {};
  const plan = useQuery({
    queryKey: ["benchmarks", "preview", JSON.stringify(read)],
    queryFn: () => (read === null ? null : hub.benchmarks.preview.query(read)),
    enabled: read !== null,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const told = plan.data?.engines;
  if (told !== undefined && told !== needs) setNeeds(told);
  const start = useAction(async () => {
    if (read === null) return null;
    const seed = Math.floor(Math.random() * MOST_SEED);
    const name = form.name.trim() === "" ? "Benchmark" : form.name.trim();
    return hub.benchmarks.start.mutate({ id, name, ...read, seed });
  });
  return (
    <Dialog
      open
      onClose={onClose}
      width="wide"
      title="New benchmark"
      intro="Every node moves the same random bytes with every engine to every bucket, in an order that is shuffled."
    >
      <form
        aria-label="New benchmark"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          start.run(undefined, (begun) => {
            if (begun === null) return;
            void client.invalidateQueries({ queryKey: ["benchmarks"] });
            onClose();
            go?.(`/benchmarks/${begun.id}`);
          });
        }}
      >
        <TextField
          label="Name"
          value={form.name}
          maxLength={128}
          placeholder="All tools, all buckets"
          onChange={(value) => set({ name: value })}
        />
        <TextField
          label="Nodes"
          hint="Online ones, by the pattern of their names; all when left empty."
          error={problems.nodes}
          kind="code"
          value={form.nodes}
          placeholder="gpu-*"
          onChange={(value) => set({ nodes: value })}
        />
        <TextField
          label="With label"
          error={problems.label}
          kind="code"
          value={form.label}
          placeholder="region=us-east"
          onChange={(value) => set({ label: value })}
        />
        <TextField
          label="Sample"
          hint="At most so many of them, chosen at random."
          error={problems.sample}
          inputMode="numeric"
          className="nums max-w-28"
          value={form.sample}
          placeholder="all"
          onChange={(value) => set({ sample: value })}
        />
        <Choices
          legend="Buckets"
          problem={problems.profileIds}
          choices={profiles.map(({ id: value, profile }) => ({ value, label: visibleText(profile.name) }))}
          chosen={form.profileIds}
          onToggle={(value) => set({ profileIds: toggled(form.profileIds, value) })}
        />
        <Choices
          legend="Engines"
          problem={problems.engines}
          choices={ENGINE_NAMES.map((value) => {
            const one = needs?.find(({ engine: name }) => name === value);
            return { value, label: ENGINES[value].title, note: one === undefined ? null : needWords(one) };
          })}
          chosen={engines}
          onToggle={(value) => {
            const engine = ENGINE_NAMES.find((name) => name === value);
            if (engine !== undefined) set({ engines: toggled(engines, engine) });
          }}
        />
        <Field label="Directions">
          {(ids) => (
            <Select
              {...ids}
              label="Directions"
              value={form.directions}
              choices={WAYS}
              onChange={(value) => set({ directions: value === "up" || value === "down" ? value : "both" })}
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
                set(presetFields(value) ?? {});
              }}
            />
          )}
        </Field>
        <Number label="Size" value={form.size} problem={problems.size} onChange={(size) => set({ size })} />
        <Number label="Part size" value={form.part} problem={problems.part} onChange={(part) => set({ part })} />
        <Number
          label="Connections"
          value={form.connections}
          problem={problems.connections}
          onChange={(connections) => set({ connections })}
        />
        <Number label="Rounds" value={form.rounds} problem={problems.rounds} onChange={(rounds) => set({ rounds })} />
        <Number
          label="At a time"
          hint="Nodes that a bucket serves at the same time."
          value={form.perBucket}
          problem={problems.perBucket}
          onChange={(perBucket) => set({ perBucket })}
        />
        <div className="mt-2 flex flex-col gap-3 empty:hidden">
          <PreviewNote plan={read === null ? null : (plan.data ?? null)} error={read === null ? null : plan.error} />
          {start.fault !== null && <FaultNote fault={start.fault} />}
        </div>
        <FormEnd
          word="Start"
          busyWord="Starting"
          busy={start.busy}
          disabled={read === null || plan.isError}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  );
}

function Choices(props: {
  legend: string;
  problem: string | undefined;
  choices: readonly { value: string; label: string; note?: string | null }[];
  chosen: readonly string[];
  onToggle: (value: string) => void;
}) {
  const { legend, problem, choices, chosen, onToggle } = props;
  const name = useId();
  return (
    <fieldset className="grid gap-x-4 gap-y-1 py-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
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
        {problem !== undefined && <p className="mt-1 text-12 text-soft">{problem}</p>}
      </div>
    </fieldset>
  );
}

function Number(props: {
  label: string;
  hint?: string;
  value: string;
  problem: string | undefined;
  onChange: (value: string) => void;
}) {
  const { label, hint, value, problem, onChange } = props;
  return (
    <TextField label={label} hint={hint} error={problem} className="nums max-w-28" value={value} onChange={onChange} />
  );
}
