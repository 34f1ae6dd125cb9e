"use client";
import type { ComponentProps } from "react";
import { TextField } from "./text-field.tsx";

type SecretFieldProps = Pick<
  ComponentProps<typeof TextField>,
  "label" | "hint" | "error" | "path" | "required" | "value" | "onChange"
>;

/**
 * Shows a field for a pasted key or token. Hides the text, and keeps browsers from offering the site's password for it.
 */
export function SecretField(props: SecretFieldProps) {
  return <TextField {...props} kind="code" type="password" autoComplete="new-password" />;
}
