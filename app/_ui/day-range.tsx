"use client";
import { TextInput } from "./text-input.tsx";

interface DayRangeProps {
  /** What the two are called to those who do not see that they stand side by side. */
  labels: readonly [from: string, to: string];
  /** `2026-11-22`, or empty. */
  fromDay: string;
  toDay: string;
  onChange: (some: { fromDay: string } | { toDay: string }) => void;
}

/** Two days and what lies between them; neither can be put past the other. */
export function DayRange({ labels, fromDay, toDay, onChange }: DayRangeProps) {
  return (
    <div className="grid w-full grid-cols-[auto_minmax(0,1fr)] items-center gap-2 text-soft sm:flex sm:w-auto">
      <span className="sm:hidden">from</span>
      <TextInput
        type="date"
        aria-label={labels[0]}
        className="min-w-38 flex-1"
        value={fromDay}
        max={toDay === "" ? undefined : toDay}
        onChange={(event) => onChange({ fromDay: event.target.value })}
      />
      <span>to</span>
      <TextInput
        type="date"
        aria-label={labels[1]}
        className="min-w-38 flex-1"
        value={toDay}
        min={fromDay === "" ? undefined : fromDay}
        onChange={(event) => onChange({ toDay: event.target.value })}
      />
    </div>
  );
}
