"use client";
import { Search } from "lucide-react";
import { classNames } from "../rendering/class-names.ts";
import { controlLook } from "./text-input.tsx";
import { useTypedText } from "./use-typed-text.ts";

interface SearchFieldProps {
  label: string;
  value: string;
  placeholder: string;
  /** `short` fits a name; two short fields share a line on narrow screens. */
  width?: "usual" | "short";
  onChange: (value: string) => void;
}

/** Shows the filter of a list. `/` focuses it, Escape clears it, and typed text is applied after a short pause. */
export function SearchField({ label, value, placeholder, width = "usual", onChange }: SearchFieldProps) {
  const { typed, type, field } = useTypedText(value, onChange);
  return (
    <div className={classNames("relative", width === "usual" ? "w-full sm:w-64" : "w-[calc(50%-6px)] sm:w-36")}>
      <Search
        size={14}
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-faint"
      />
      <input
        ref={field}
        type="search"
        aria-label={label}
        data-page-filter
        placeholder={placeholder}
        value={typed}
        onChange={(event) => type(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          type("");
          event.currentTarget.blur();
        }}
        className={classNames(controlLook, "min-h-[30px] py-1 pl-8", width === "short" && "max-sm:pr-1 max-sm:pl-7")}
      />
    </div>
  );
}
