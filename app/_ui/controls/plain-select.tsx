"use client";
import { controlLook } from "./text-input.tsx";

interface PlainSelectProps {
  label: string;
  value: string | null;
  placeholder: string;
  disabled?: boolean;
  choices: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
}

/** Shows a native select, for pages that must work before more scripts are loaded. */
export function PlainSelect({ label, value, placeholder, disabled = false, choices, onChange }: PlainSelectProps) {
  return (
    <select
      aria-label={label}
      disabled={disabled}
      value={value ?? ""}
      onChange={(event) => onChange(event.target.value)}
      className={controlLook}
    >
      {(value === null || choices.length === 0) && (
        <option value="" disabled>
          {placeholder}
        </option>
      )}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}
