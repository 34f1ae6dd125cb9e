"use client";
import { useState, type ReactNode } from "react";
import { SearchField } from "../_ui/controls/search-field.tsx";

export interface Pickable {
  id: string;
  label: string;
  note?: ReactNode;
  /** Reason why it cannot be selected. */
  whyNot?: string | null;
}

interface PickListProps {
  label: string;
  items: readonly Pickable[];
  picked: ReadonlySet<string>;
  onChange: (picked: ReadonlySet<string>) => void;
}

const SHOWN = 200;

/** Shows a filterable list of checkboxes. Items that cannot be selected show the reason. */
export function PickList({ label, items, picked, onChange }: PickListProps) {
  const [typed, setTyped] = useState("");
  const fitting = items.filter((item) => item.label.toLowerCase().includes(typed.toLowerCase()));
  const shown = fitting.slice(0, SHOWN);
  const toggle = (id: string) => {
    const next = new Set(picked);
    if (!next.delete(id)) next.add(id);
    onChange(next);
  };
  const all = fitting.filter((item) => typeof item.whyNot !== "string");
  return (
    <fieldset className="my-1.5 rounded-md border border-line sm:ml-36">
      <legend className="sr-only">{label}</legend>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-2.5 py-1.5">
        <SearchField label={`Filter: ${label}`} value={typed} onChange={setTyped} placeholder="Part of a name" />
        <button
          type="button"
          className="ml-auto rounded-1 px-1.5 text-12 text-soft hover:text-ink"
          onClick={() => onChange(new Set([...picked, ...all.map(({ id }) => id)]))}
        >
          All {all.length}
        </button>
        <button
          type="button"
          className="rounded-1 px-1.5 text-12 text-soft hover:text-ink"
          onClick={() => onChange(new Set())}
        >
          None
        </button>
      </div>
      <ul tabIndex={-1} className="max-h-44 overflow-y-auto py-1">
        {shown.map((item) => (
          <li key={item.id}>
            <label className="flex items-baseline gap-2 px-2.5 py-1 hover:bg-sunk">
              <input
                type="checkbox"
                className="size-4 shrink-0 self-center accent-accent"
                checked={picked.has(item.id)}
                disabled={typeof item.whyNot === "string" && !picked.has(item.id)}
                onChange={() => toggle(item.id)}
              />
              <span className="min-w-0 flex-1 truncate">{item.label}</span>
              <span className="nums max-w-[50%] truncate text-12 text-faint">{item.whyNot ?? item.note}</span>
            </label>
          </li>
        ))}
        {fitting.length > SHOWN && (
          <li className="nums px-2.5 py-1 text-12 text-faint">{fitting.length - SHOWN} more: type a part of a name</li>
        )}
      </ul>
    </fieldset>
  );
}
