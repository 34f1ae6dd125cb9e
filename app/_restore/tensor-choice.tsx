"use client";
import { formatCount } from "#protocol/base/units.ts";
import type { RestorePlan } from "#protocol/wire/views.ts";
import { Field } from "../_forms/field.tsx";
import { TextArea } from "../_ui/controls/text-input.tsx";
import { formatBytes } from "../_ui/text/sizes.ts";
import { patternsOf, patternsWrong } from "./restore-choice.ts";

interface TensorChoiceProps {
  typed: string;
  /** Files and bytes that the patterns select; null while unknown. */
  found: RestorePlan["chosen"] | "refused" | null;
  onChange: (typed: string) => void;
}

/** Shows a field for tensor patterns, one per line, with the size of the selected tensors. */
export function TensorChoice({ typed, found, onChange }: TensorChoiceProps) {
  return (
    <Field
      label="Tensors"
      error={patternsWrong(typed)}
      hint="One pattern a line: a name, * for anything, a dot at the end for all below. Safetensors files are cut to them."
    >
      {(ids) => (
        <>
          <TextArea
            {...ids}
            kind="code"
            rows={3}
            value={typed}
            placeholder={"model.embed_tokens.*\nmodel.layers.0."}
            onChange={(event) => onChange(event.target.value)}
          />
          <output className="nums mt-1 block text-soft" aria-label="Tensors chosen">
            {foundWords(typed, found)}
          </output>
        </>
      )}
    </Field>
  );
}

function foundWords(typed: string, found: TensorChoiceProps["found"]): string {
  if ((patternsOf(typed)?.length ?? 0) === 0) return "none chosen yet";
  if (found === "refused") return "none; see the reason below";
  if (found === null || found.tensors === null) return "not known yet";
  const { count, bytes } = found.tensors;
  const what = `${formatCount(count)} ${count === 1 ? "tensor" : "tensors"}, ${formatBytes(bytes)}`;
  return `${what}; ${formatBytes(found.bytes)} move, because parts are verified whole`;
}
