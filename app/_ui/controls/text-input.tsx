"use client";
import type { ComponentProps } from "react";
import { classNames } from "../rendering/class-names.ts";

/** In a file apart from `field.tsx`, so that pages with a control but no form load less script. */
export const controlLook =
  "block w-full min-h-[34px] rounded-md border border-line bg-bg px-2.5 py-1.5 text-13 text-ink placeholder:text-faint hover:border-edge aria-invalid:border-lost disabled:opacity-60 max-sm:text-[16px]";

interface TextInputProps extends ComponentProps<"input"> {
  kind?: "words" | "code";
}

interface TextAreaProps extends ComponentProps<"textarea"> {
  kind?: "words" | "code";
}

/** Shows an input of several lines. With `kind="code"`, spelling is neither checked nor corrected. */
export function TextArea({ kind = "words", className, ...rest }: TextAreaProps) {
  return (
    <textarea
      autoComplete="off"
      {...(kind === "code" ? { spellCheck: false, autoCapitalize: "none", autoCorrect: "off" } : {})}
      {...rest}
      className={classNames(controlLook, "resize-y", kind === "code" && "font-mono sm:text-12", className)}
    />
  );
}

export function TextInput({ kind = "words", className, ...rest }: TextInputProps) {
  return (
    <input
      type="text"
      autoComplete="off"
      {...(kind === "code" ? { spellCheck: false, autoCapitalize: "none", autoCorrect: "off" } : {})}
      {...rest}
      className={classNames(controlLook, kind === "code" && "font-mono sm:text-12", className)}
    />
  );
}
