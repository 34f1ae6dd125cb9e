"use client";
import type { ReactNode } from "react";
import { useFormField } from "./use-form-field.ts";

interface InlineFieldProps {
  /** Name of the control for screen readers. */
  label: string;
  /** Where its value stands in the call that the form makes. */
  path: string;
  required?: boolean;
  className?: string;
  /** Gets what names the control, and ties its error to it. */
  children: (attributes: {
    id: string;
    "aria-label": string;
    "aria-describedby": string | undefined;
    "aria-invalid": true | undefined;
    "aria-required": true | undefined;
  }) => ReactNode;
}

/** A control in a line with others, without a label of its own; what is wrong with it stands beneath. */
export function InlineField({ label, path, required = false, className, children }: InlineFieldProps) {
  const { id, noteId, error } = useFormField(path);
  return (
    <div className={className}>
      {children({
        id,
        "aria-label": label,
        "aria-describedby": error === undefined ? undefined : noteId,
        "aria-invalid": error === undefined ? undefined : true,
        "aria-required": required ? true : undefined,
      })}
      {error !== undefined && (
        <p id={noteId} className="pt-1 text-12 text-lost">
          {error}
        </p>
      )}
    </div>
  );
}
