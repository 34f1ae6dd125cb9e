"use client";
import { formatCount } from "#protocol/base/units.ts";
import type { RestorePlan } from "#protocol/wire/views.ts";
import { Button } from "../_ui/controls/button.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Skeleton } from "../_ui/loading/skeleton.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";
import { countWords } from "./count-words.ts";
import { FileChoice } from "./file-choice.tsx";
import { FormLine } from "./form-line.tsx";
import { planned, type RestoreChoice } from "./restore-choice.ts";

interface ContentChoiceProps {
  plan: RestorePlan;
  choice: RestoreChoice;
  /** Whether the plan matches the typed tensor patterns. */
  areTensorsKnown: boolean;
  onChange: (change: (old: RestoreChoice) => RestoreChoice) => void;
}

const TensorChoice = onDemand(
  () => import("./tensor-choice.tsx").then((module) => module.TensorChoice),
  () => <Skeleton className="my-1.5 h-24 w-full" />,
);

/** Asks what to restore of a checkpoint: everything, some files, or some tensors. */
export function ContentChoice({ plan, choice, areTensorsKnown, onChange }: ContentChoiceProps) {
  const isUpperBound = choice.files !== null && planned(choice.files) === null;
  return (
    <>
      <FormLine label="Files">
        <span className="nums">{fileWords(plan, choice)}</span>
        <Button size="small" onClick={() => onChange((old) => ({ ...old, files: old.files === null ? [] : null }))}>
          {choice.files === null ? "Choose files" : "All files"}
        </Button>
        <Button size="small" onClick={() => onChange((old) => ({ ...old, tensors: old.tensors === null ? "" : null }))}>
          {choice.tensors === null ? "Choose tensors" : "Whole files"}
        </Button>
        <span className="nums ml-auto text-soft">
          {isUpperBound ? "at most " : ""}
          {formatBytes(plan.chosen.bytes)}
        </span>
      </FormLine>
      {choice.files !== null && (
        <FileChoice
          checkpoint={plan.checkpoint}
          files={choice.files}
          onChange={(files) => onChange((old) => ({ ...old, files }))}
        />
      )}
      {choice.tensors !== null && (
        <TensorChoice
          typed={choice.tensors}
          found={!areTensorsKnown ? null : plan.refusal === null ? plan.chosen : "refused"}
          onChange={(tensors) => onChange((old) => ({ ...old, tensors }))}
        />
      )}
    </>
  );
}

function fileWords({ chosen }: RestorePlan, { files, tensors }: RestoreChoice): string {
  if (tensors !== null) return chosen.tensors === null ? "tensors of them" : countWords(chosen.files, "file");
  const count = files?.length ?? chosen.files;
  if (count === 0) return "none chosen yet";
  return `${files === null ? "all " : ""}${formatCount(count)} ${count === 1 ? "file" : "files"}`;
}
