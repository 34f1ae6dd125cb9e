"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { formatCount } from "#protocol/base/units.ts";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { runsQuery } from "../_hub/queries/queries.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { PlainSelect } from "../_ui/controls/plain-select.tsx";
import { stepsQuery } from "./queries.ts";

interface StepChoiceProps {
  label: string;
  chosen: Pick<CheckpointRow, "id" | "run" | "step"> | undefined;
  onChoose: (checkpointId: string) => void;
}

/** Selects a run and one of its newest complete steps. */
export function StepChoice({ label, chosen, onChoose }: StepChoiceProps) {
  const [other, setOther] = useState<string | null>(null);
  const runs = useQuery(runsQuery());
  const run = other ?? chosen?.run ?? null;
  const steps = useQuery({ ...stepsQuery(run ?? ""), enabled: run !== null });
  const listed = (steps.data?.rows ?? []).map(({ id, step, writerEpoch }) => ({
    value: id,
    label: `${stepWords(step)}${writerEpoch === 0 ? ", adopted" : `, epoch ${writerEpoch}`}`,
  }));
  const isListed = chosen === undefined || chosen.run !== run || listed.some(({ value }) => value === chosen.id);
  return (
    <div className="grid grid-cols-2 gap-2">
      <PlainSelect
        label={`${label}: run`}
        value={run}
        placeholder="Run"
        choices={(runs.data ?? []).map(({ name, complete }) => ({
          value: name,
          label: `${visibleText(name)}, ${formatCount(complete)} complete`,
        }))}
        onChange={setOther}
      />
      <PlainSelect
        label={`${label}: step`}
        value={chosen?.run === run ? (chosen?.id ?? null) : null}
        placeholder={steps.isFetching ? "Loading" : "Step"}
        disabled={run === null}
        choices={
          isListed || chosen === undefined ? listed : [...listed, { value: chosen.id, label: stepWords(chosen.step) }]
        }
        onChange={(id) => {
          setOther(null);
          onChoose(id);
        }}
      />
    </div>
  );
}
