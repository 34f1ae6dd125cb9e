"use client";
import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useState } from "react";
import { Key } from "../_ui/controls/button.tsx";
import { useReturnFocus } from "../_ui/layout/return-focus.ts";
import { visibleText } from "../_ui/text/visible-text.ts";
import { usePaletteEntries } from "./palette-entries.ts";
import type { Entry } from "./palette-entry.ts";
import { bestMatches } from "./palette-match.ts";

const SHOWN = 40;

/** Shows the command palette, which finds pages, nodes, runs, buckets, keys and actions by name. */
export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const [typed, setTyped] = useState("");
  const returnFocus = useReturnFocus();
  const found = bestMatches(usePaletteEntries(typed, onHelp), typed, SHOWN);
  return (
    <Dialog.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-veil" />
        <Dialog.Popup
          finalFocus={returnFocus}
          aria-label="Find"
          className="fixed top-[10vh] left-1/2 z-50 flex max-h-[70vh] w-[min(620px,calc(100vw-24px))] -translate-x-1/2 flex-col overflow-hidden rounded-3 border border-line bg-panel text-ink shadow-lift outline-none"
        >
          <Autocomplete.Root
            open
            inline
            items={found}
            filter={null}
            autoHighlight="always"
            keepHighlight
            value={typed}
            onValueChange={setTyped}
            itemToStringValue={(entry: Entry) => entry.text}
          >
            <Autocomplete.Input
              aria-label="Find a node, run, key or action"
              placeholder="Find a node, run, key or action"
              className="w-full border-b border-line bg-transparent px-4 py-3 text-15 outline-none placeholder:text-faint max-sm:text-[16px]"
            />
            <Autocomplete.Empty className="px-4 text-soft not-empty:py-4">
              Nothing matches “{visibleText(typed)}”.
            </Autocomplete.Empty>
            <Autocomplete.List className="min-h-0 flex-1 overflow-y-auto p-1.5 empty:hidden">
              {(entry: Entry) => (
                <Autocomplete.Item
                  key={entry.id}
                  value={entry}
                  onClick={() => {
                    onClose();
                    entry.choose();
                  }}
                  className="group flex cursor-pointer items-center gap-3 rounded-md px-2.5 py-1.5 outline-none data-highlighted:bg-sunk"
                >
                  <span className="w-14 shrink-0 text-12 text-faint">{entry.kind}</span>
                  <span className="min-w-0 truncate">{visibleText(entry.text)}</span>
                  <span className="ml-auto truncate text-12 text-faint">{visibleText(entry.note ?? "")}</span>
                  <span className="hidden group-data-highlighted:block">
                    <Key>↵</Key>
                  </span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
