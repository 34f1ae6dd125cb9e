"use client";
import type { ComponentProps } from "react";
import { TextField } from "./text-field.tsx";

type SecretFieldProps = Pick<
  ComponentProps<typeof TextField>,
  "label" | "hint" | "error" | "path" | "required" | "value" | "onChange"
>;

/** A field for a pasted key or token. It hides the text, and browsers do not offer the site's password for it. */
export function SecretField(props: SecretFieldProps) {
  return <TextField {...props} kind="code" type="password" autoComplete="new-password" />;
}
