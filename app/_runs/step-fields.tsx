"use client";
import { useState } from "react";
import { Button } from "../_ui/controls/button.tsx";
import { controlLook } from "../_ui/controls/text-input.tsx";
import { classNames } from "../_ui/rendering/class-names.ts";
import type { StepRange } from "./step-range.ts";

interface StepFieldsProps {
  range: StepRange | null;
  bounds: StepRange;
  onRange: (range: StepRange) => void;
}

/** The steps that are shown, by number: for whoever knows them, and for whoever does not drag. */
export function StepFields({ range, bounds, onRange }: StepFieldsProps) {
  const [typed, setTyped] = useState({
    from: String(range?.from ?? bounds.from),
    to: String(range?.to ?? bounds.to),
  });
  const [from, to] = [Number(typed.from), Number(typed.to)];
  const isRead = Number.isSafeInteger(from) && Number.isSafeInteger(to) && from >= 0 && to >= from;
  return (
    <form
      aria-label="Steps shown"
      className="flex items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (isRead) onRange({ from, to });
      }}
    >
      {(["from", "to"] as const).map((end) => (
        <label key={end} className="flex items-center gap-1.5">
          {end === "from" ? "Steps" : "to"}
          <input
            inputMode="numeric"
            aria-label={end === "from" ? "From step" : "To step"}
            value={typed[end]}
            onChange={(event) => setTyped({ ...typed, [end]: event.target.value })}
            className={classNames(controlLook, "nums min-h-[28px] w-24 py-0.5")}
          />
        </label>
      ))}
      <Button type="submit" size="small" disabled={!isRead}>
        Show
      </Button>
    </form>
  );
}
