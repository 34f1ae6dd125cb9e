"use client";
import { useId, type KeyboardEvent, type ReactNode } from "react";
import { classNames } from "../rendering/class-names.ts";
import { tabAfter } from "./tab-after.ts";

interface TabItem {
  id: string;
  label: string;
  body: ReactNode;
}

interface TabsProps {
  label: string;
  items: readonly TabItem[];
  value: string;
  onChange: (id: string) => void;
}

/**
 * Shows one of several parts of a page. Arrow keys, Home and End move the focus between tabs, Enter activates one
 * (https://www.w3.org/WAI/ARIA/apg/patterns/tabs/, with manual activation, because opening a tab may query the hub).
 */
export function Tabs({ label, items, value, onChange }: TabsProps) {
  const name = useId();
  const shown = items.find((item) => item.id === value) ?? items[0];
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const tabs = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")];
    const at = tabs.findIndex((tab) => tab === document.activeElement);
    const next = tabAfter(event.key, at, tabs.length);
    if (next === null) return;
    event.preventDefault();
    tabs[next]?.focus();
  };
  if (shown === undefined) return null;
  return (
    <div>
      <div
        role="tablist"
        tabIndex={-1}
        aria-label={label}
        onKeyDown={move}
        className="no-scrollbar flex gap-1 overflow-x-auto overflow-y-hidden shadow-[inset_0_-1px_0_var(--line)]"
      >
        {items.map(({ id, label: words }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${name}-${id}`}
            aria-selected={id === shown.id}
            aria-controls={id === shown.id ? `${name}-panel` : undefined}
            tabIndex={id === shown.id ? 0 : -1}
            onClick={() => onChange(id)}
            className={classNames(
              "shrink-0 border-b-2 px-2 py-1.5 whitespace-nowrap hover:text-ink focus-visible:outline-offset-[-2px]",
              id === shown.id ? "border-accent font-mid text-ink" : "border-transparent text-soft",
            )}
          >
            {words}
          </button>
        ))}
      </div>
      <div
        key={shown.id}
        role="tabpanel"
        id={`${name}-panel`}
        aria-labelledby={`${name}-${shown.id}`}
        tabIndex={-1}
        className="pt-3 outline-none"
      >
        {shown.body}
      </div>
    </div>
  );
}
