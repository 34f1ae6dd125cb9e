"use client";
import { useState } from "react";
import { Form } from "../_forms/form.tsx";
import { InlineField } from "../_forms/inline-field.tsx";
import { Button } from "../_ui/controls/button.tsx";
import { controlLook } from "../_ui/controls/text-input.tsx";
import { classNames } from "../_ui/rendering/class-names.ts";
import type { StepRange } from "./step-range.ts";

interface StepFieldsProps {
  range: StepRange | null;
  bounds: StepRange;
  onRange: (range: StepRange) => void;
}

/** Fields for the range of shown steps, as an alternative to dragging. */
export function StepFields({ range, bounds, onRange }: StepFieldsProps) {
  const [typed, setTyped] = useState({
    from: String(range?.from ?? bounds.from),
    to: String(range?.to ?? bounds.to),
  });
  const [from, to] = [Number(typed.from), Number(typed.to)];
  const isStep = (step: number): boolean => Number.isSafeInteger(step) && step >= 0;
  const errors = {
    from: isStep(from) ? undefined : "A step is a whole number.",
    to: !isStep(to) ? "A step is a whole number." : to < from ? "The last step is not below the first." : undefined,
  };
  return (
    <Form
      label="Steps shown"
      className="flex items-baseline gap-2"
      errors={errors}
      actions={[]}
      onSubmit={() => onRange({ from, to })}
    >
      {(["from", "to"] as const).map((end) => (
        <label key={end} className="flex items-baseline gap-1.5">
          {end === "from" ? "Steps" : "to"}
          <InlineField label={end === "from" ? "From step" : "To step"} path={end} className="max-w-44">
            {(attributes) => (
              <input
                {...attributes}
                inputMode="numeric"
                value={typed[end]}
                onChange={(event) => setTyped({ ...typed, [end]: event.target.value })}
                className={classNames(controlLook, "nums min-h-[28px] max-w-24 py-0.5")}
              />
            )}
          </InlineField>
        </label>
      ))}
      <Button type="submit" size="small">
        Show
      </Button>
    </Form>
  );
}
