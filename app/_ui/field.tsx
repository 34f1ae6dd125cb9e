"use client";
import { useId, type ComponentProps, type ReactNode } from "react";
import { classNames } from "./class-names.ts";

interface FieldProps {
  label: string;
  /** What to enter, or where to find it. */
  hint?: ReactNode;
  error?: string | undefined;
  /** Gets the ids that tie label, hint and error to the control. */
  children: (ids: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": true | undefined;
  }) => ReactNode;
}

/** A labelled control: label left on wide screens, above on narrow ones; the error stands under the control. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const said = error !== undefined || hint !== undefined;
  return (
    <div className="grid gap-x-4 gap-y-1 py-1.5 sm:grid-cols-[128px_minmax(0,1fr)]">
      <label htmlFor={id} className="pt-[7px] text-soft">
        {label}
      </label>
      <div className="min-w-0">
        {children({
          id,
          "aria-describedby": said ? `${id}-note` : undefined,
          "aria-invalid": error === undefined ? undefined : true,
        })}
        {said && (
          <p id={`${id}-note`} className={classNames("mt-1 text-12", error === undefined ? "text-faint" : "text-lost")}>
            {error ?? hint}
          </p>
        )}
      </div>
    </div>
  );
}

export const controlLook =
  "block w-full min-h-[34px] rounded-md border border-line bg-bg px-2.5 py-1.5 text-13 text-ink placeholder:text-faint hover:border-edge aria-invalid:border-lost disabled:opacity-60 max-sm:text-[16px]";

interface TextInputProps extends ComponentProps<"input"> {
  kind?: "words" | "code";
}

interface TextAreaProps extends ComponentProps<"textarea"> {
  kind?: "words" | "code";
}

/** Several lines; what is code is not corrected. */
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
