"use client";
import { useId } from "react";

interface CheckLineProps {
  label: string;
  hint: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

/** Shows a checkbox with a hint, aligned with the fields of a form. */
export function CheckLine({ label, hint, checked, onChange }: CheckLineProps) {
  const id = useId();
  return (
    <div className="grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-2 py-1.5 sm:ml-[144px]">
      <input
        id={id}
        type="checkbox"
        className="size-4 accent-accent"
        checked={checked}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      <p id={`${id}-note`} className="col-start-2 text-12 text-faint">
        {hint}
      </p>
    </div>
  );
}
