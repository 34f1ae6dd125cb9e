"use client";
import type { ComponentProps } from "react";
import { TextField } from "./text-field.tsx";

type SecretFieldProps = Pick<
  ComponentProps<typeof TextField>,
  "label" | "hint" | "error" | "path" | "required" | "value" | "onChange"
>;

/** A key or token that somebody pastes: not shown, and no browser offers the password of the page for it. */
export function SecretField(props: SecretFieldProps) {
  return <TextField {...props} kind="code" type="password" autoComplete="new-password" />;
}
