"use client";
import type { ComponentProps } from "react";
import { Field } from "./field.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";

interface TextFieldProps
  extends
    Omit<ComponentProps<typeof TextInput>, "id" | "value" | "onChange" | "path" | "required">,
    Omit<ComponentProps<typeof Field>, "children"> {
  value: string;
  onChange: (value: string) => void;
}

/** Shows a labelled text field of one line. */
export function TextField({ label, hint, error, path, required, onChange, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} path={path} required={required}>
      {(ids) => <TextInput {...ids} {...rest} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  );
}
