"use client";
import { TextInput } from "./text-input.tsx";
import { useTypedText } from "./use-typed-text.ts";

interface DayRangeProps {
  /** Accessible names of the two fields, which do not rely on seeing them side by side. */
  labels: readonly [from: string, to: string];
  /** As `2026-11-22`, or empty. */
  fromDay: string;
  toDay: string;
  onChange: (some: { fromDay: string } | { toDay: string }) => void;
}

/** Shows two date fields for a range. Neither date can pass the other. */
export function DayRange({ labels, fromDay, toDay, onChange }: DayRangeProps) {
  return (
    <div className="grid w-full grid-cols-[auto_minmax(0,1fr)] items-center gap-2 text-soft sm:flex sm:w-auto">
      <span className="sm:hidden">from</span>
      <DayField
        label={labels[0]}
        day={fromDay}
        max={toDay === "" ? undefined : toDay}
        onChange={(day) => onChange({ fromDay: day })}
      />
      <span>to</span>
      <DayField
        label={labels[1]}
        day={toDay}
        min={fromDay === "" ? undefined : fromDay}
        onChange={(day) => onChange({ toDay: day })}
      />
    </div>
  );
}

interface DayFieldProps {
  label: string;
  day: string;
  min?: string | undefined;
  max?: string | undefined;
  onChange: (day: string) => void;
}

function DayField({ label, day, min, max, onChange }: DayFieldProps) {
  const { typed, type, field } = useTypedText(day, onChange);
  return (
    <TextInput
      ref={field}
      type="date"
      aria-label={label}
      className="min-w-38 flex-1"
      value={typed}
      min={min}
      max={max}
      onChange={(event) => type(event.target.value)}
    />
  );
}
