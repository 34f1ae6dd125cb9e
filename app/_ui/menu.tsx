"use client";
import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import { classNames } from "./class-names.ts";

export interface MenuItem {
  id: string;
  label: ReactNode;
  tone?: "usual" | "danger";
  disabled?: boolean;
  onChoose: () => void;
}

/** A menu of actions under a button. It stays open and in place while the list behind it updates. */
export function Menu({ trigger, items }: { trigger: ReactElement; items: readonly MenuItem[] }) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner align="end" sideOffset={4} className="z-[60]">
          <Base.Popup className="min-w-44 rounded-2 border border-line bg-panel p-1 text-ink shadow-lift outline-none">
            {items.map((item) => (
              <Base.Item
                key={item.id}
                disabled={item.disabled === true}
                onClick={item.onChoose}
                className={classNames(
                  "flex cursor-pointer items-center gap-2 rounded-1 px-2 py-1.5 outline-none data-disabled:opacity-50 data-highlighted:bg-sunk",
                  item.tone === "danger" && "text-lost",
                )}
              >
                {item.label}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
