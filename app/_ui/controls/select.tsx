"use client";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { Select as Base } from "@base-ui/react/select";
import { Check, ChevronDown } from "lucide-react";
import { useContext, type ReactNode } from "react";
import { classNames } from "../rendering/class-names.ts";
import { controlLook } from "./text-input.tsx";
import { FormFieldsContext } from "./form-fields.ts";

interface Choice {
  value: string;
  label: string;
  /** Second line in the list, or text at the right end. */
  note?: ReactNode;
  /** Reason why it cannot be chosen; shown instead of the note. */
  whyNot?: string | null;
}

interface SelectProps {
  id?: string;
  label?: string;
  value: string | null;
  choices: readonly Choice[];
  onChange: (value: string) => void;
  placeholder?: string;
  disabled?: boolean;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: true | undefined;
}

/** Shows a select whose disabled choices stay in the list with the reason. */
export function Select({ id, label, value, choices, onChange, placeholder, disabled, ...rest }: SelectProps) {
  const form = useContext(FormFieldsContext);
  const chosen = choices.find((choice) => choice.value === value);
  // Base UI's own style element would need a nonce. It only hides a scroll bar, which a class does as well.
  return (
    <CSPProvider disableStyleElements>
      <Base.Root
        value={value}
        disabled={disabled === true}
        onValueChange={(next) => {
          if (next === null) return;
          onChange(next);
          form?.changed(id ?? "");
        }}
        items={choices.map((choice) => ({ value: choice.value, label: choice.label }))}
      >
        <Base.Trigger
          {...(id === undefined ? {} : { id })}
          aria-label={label}
          aria-describedby={rest["aria-describedby"]}
          aria-invalid={rest["aria-invalid"]}
          className={classNames(controlLook, "flex items-center gap-2 text-left")}
        >
          <span
            className={classNames("max-w-[calc(100%-22px)] shrink-0 truncate", chosen === undefined && "text-faint")}
          >
            {chosen?.label ?? placeholder ?? "Choose"}
          </span>
          {chosen?.note !== undefined && <span className="min-w-0 truncate text-soft">{chosen.note}</span>}
          <Base.Icon className="ml-auto text-faint">
            <ChevronDown size={14} />
          </Base.Icon>
        </Base.Trigger>
        <Base.Portal>
          <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-[60]">
            <Base.Popup className="max-h-(--available-height) w-(--anchor-width) min-w-48 overflow-y-auto rounded-2 border border-line bg-panel p-1 text-ink shadow-lift outline-none">
              {choices.map((choice) => (
                <Base.Item
                  key={choice.value}
                  value={choice.value}
                  disabled={typeof choice.whyNot === "string"}
                  className="flex items-center gap-2 rounded-1 px-2 py-1.5 outline-none data-disabled:opacity-60 data-highlighted:bg-sunk"
                >
                  <span className="min-w-0 flex-1">
                    <Base.ItemText className="block truncate">{choice.label}</Base.ItemText>
                    {(choice.whyNot ?? choice.note) !== undefined && (
                      <span className="block truncate text-12 text-faint">{choice.whyNot ?? choice.note}</span>
                    )}
                  </span>
                  <Base.ItemIndicator className="text-accent">
                    <Check size={14} />
                  </Base.ItemIndicator>
                </Base.Item>
              ))}
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </Base.Root>
    </CSPProvider>
  );
}
