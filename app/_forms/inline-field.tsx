"use client";
import type { ReactNode } from "react";
import { useFormField } from "./use-form-field.ts";

interface InlineFieldProps {
  /** Accessible name of the control. */
  label: string;
  /** Path of the value in the input of the call. */
  path: string;
  required?: boolean;
  className?: string;
  /** Renders the control with its name and the ids that tie the error to it. */
  children: (attributes: {
    id: string;
    "aria-label": string;
    "aria-describedby": string | undefined;
    "aria-invalid": true | undefined;
    "aria-required": true | undefined;
  }) => ReactNode;
}

/** Shows a control without a visible label, in a line with others. Its error is below it. */
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
