"use client";
import { Search } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { controlLook } from "../_ui/text-input.tsx";
import { classNames } from "../_ui/class-names.ts";

interface PageHeadProps {
  title: ReactNode;
  /** A state beside the title. */
  tag?: ReactNode;
  /** Empty while it is not known: it keeps its line. */
  about?: ReactNode;
  actions?: ReactNode;
}

/** The headline of a page: the one thing to read, what is to know about it, what can be done. */
export function PageHead({ title, tag, about, actions }: PageHeadProps) {
  return (
    <div className="flex flex-wrap items-end gap-x-8 gap-y-3">
      <div className="min-w-0 flex-1 basis-[360px]">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <h1 className="max-w-[30em] min-w-0 text-20 font-semibold tracking-[-.02em] text-balance sm:text-28">
            {title}
          </h1>
          {tag}
        </div>
        {about !== undefined && <div className="mt-1 min-h-[1lh] max-w-[100ch] text-soft">{about}</div>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
    </div>
  );
}

interface SearchFieldProps {
  label: string;
  value: string;
  placeholder: string;
  /** `short` is for a name; two of them share a line on narrow screens. */
  width?: "usual" | "short";
  onChange: (value: string) => void;
}

const SETTLE_MS = 200;

/** The filter of a page: `/` comes here, Escape empties it. What is typed settles for a moment before it is applied. */
export function SearchField({ label, value, placeholder, width = "usual", onChange }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const [applied, setApplied] = useState(value);
  if (value !== applied) {
    setApplied(value);
    setTyped(value);
  }
  useEffect(() => {
    if (typed === applied) return;
    const timer = setTimeout(() => {
      setApplied(typed);
      onChange(typed);
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [typed, applied, onChange]);
  return (
    <div className={classNames("relative", width === "usual" ? "w-full sm:w-64" : "w-[calc(50%-6px)] sm:w-36")}>
      <Search
        size={14}
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-faint"
      />
      <input
        type="search"
        aria-label={label}
        data-page-filter
        placeholder={placeholder}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          setTyped("");
          event.currentTarget.blur();
        }}
        className={classNames(controlLook, "min-h-[30px] py-1 pl-8", width === "short" && "max-sm:pr-1 max-sm:pl-7")}
      />
    </div>
  );
}
