"use client";
import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

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

export function Tabs({ label, items, value, onChange }: TabsProps) {
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(String(next))}>
      <Base.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
        {items.map((item) => (
          <Base.Tab
            key={item.id}
            value={item.id}
            className="-mb-px shrink-0 border-b-2 border-transparent px-2 py-1.5 whitespace-nowrap text-soft hover:text-ink focus-visible:outline-offset-[-2px] data-active:border-accent data-active:font-mid data-active:text-ink"
          >
            {item.label}
          </Base.Tab>
        ))}
      </Base.List>
      {items.map((item) => (
        <Base.Panel key={item.id} value={item.id} className="pt-3 outline-none" tabIndex={-1}>
          {item.body}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
