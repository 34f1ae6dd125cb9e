"use client";
import type { ReactNode } from "react";
import { classNames } from "../_ui/rendering/class-names.ts";
import { useFormField } from "./use-form-field.ts";

interface FieldProps {
  label: string;
  /** Explains the value to enter, or where to find it. */
  hint?: ReactNode;
  error?: string | undefined;
  /** Path of the value in the input of the call: `secret.key`. The form shows errors of this path here. */
  path?: string | undefined;
  /** Marks a field that cannot be left empty. */
  required?: boolean | undefined;
  /** Renders the control with the ids that tie label, hint and error to it. */
  children: (ids: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": true | undefined;
    "aria-required": true | undefined;
  }) => ReactNode;
}

/**
 * Shows a labelled control. The label is at the left on wide screens and above on narrow ones; the error is below the
 * control.
 */
export function Field({ label, hint, error: given, path, required = false, children }: FieldProps) {
  const { id, noteId, error, changed } = useFormField(path, given);
  const said = error !== undefined || hint !== undefined;
  return (
    <div className="grid gap-x-4 gap-y-1 py-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
      <div className="pt-[7px] text-soft">
        <label htmlFor={id}>{label}</label>
        {required && (
          <span aria-hidden title="required" className="ml-0.5 text-lost">
            *
          </span>
        )}
      </div>
      <div className="min-w-0" onChange={changed}>
        {children({
          id,
          "aria-describedby": said ? noteId : undefined,
          "aria-invalid": error === undefined ? undefined : true,
          "aria-required": required ? true : undefined,
        })}
        {said && (
          <p id={noteId} className={classNames("mt-1 text-12", error === undefined ? "text-faint" : "text-lost")}>
            {error ?? hint}
          </p>
        )}
      </div>
    </div>
  );
}
