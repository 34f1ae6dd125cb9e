"use client";
import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { chooseRateUnit, chooseTheme, useRateUnit } from "../_hub/choices.ts";
import { useNodes } from "../_hub/live.tsx";
import { runsQuery } from "../_hub/queries.ts";
import { nodeFactsLine } from "../_nodes/node-filter.ts";
import { Key } from "../_ui/button.tsx";
import { visibleText } from "../_ui/visible-text.ts";
import { useDialogs } from "./dialogs.tsx";
import { PLACES } from "./nav.tsx";
import { bestMatches } from "./palette-match.ts";

interface Entry {
  id: string;
  kind: string;
  text: string;
  note?: string | undefined;
  choose: () => void;
}

const SHOWN = 40;

/** Everything by name: pages, nodes, runs and actions. */
export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const [typed, setTyped] = useState("");
  const found = bestMatches(usePaletteEntries(onHelp), typed, SHOWN);
  return (
    <Dialog.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-veil" />
        <Dialog.Popup
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
              aria-label="Find a node, run or action"
              placeholder="Find a node, run or action"
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

function usePaletteEntries(onHelp: () => void): Entry[] {
  const router = useRouter();
  const nodes = useNodes();
  const runs = useQuery(runsQuery());
  const dialogs = useDialogs();
  const unit = useRateUnit();
  const go = (path: string) => () => router.push(path);
  return [
    ...PLACES.map((place) => ({ id: place.href, kind: "page", text: place.label, choose: go(place.href) })),
    { id: "add-node", kind: "action", text: "Add node", choose: dialogs.addNode },
    {
      id: "restore",
      kind: "action",
      text: "Restore a checkpoint",
      choose: () => dialogs.restore({ checkpointId: null, nodeId: null }),
    },
    { id: "add-bucket", kind: "action", text: "Add bucket profile", choose: go("/buckets?add=1") },
    { id: "at-risk", kind: "action", text: "Show what is at risk", choose: go("/nodes?show=risk") },
    { id: "add-rule", kind: "action", text: "Add alert rule", choose: go("/alerts?show=rules&rule=new") },
    { id: "light", kind: "action", text: "Theme: light", choose: () => chooseTheme("light") },
    { id: "dark", kind: "action", text: "Theme: dark", choose: () => chooseTheme("dark") },
    { id: "system", kind: "action", text: "Theme: as the system", choose: () => chooseTheme("system") },
    {
      id: "rate",
      kind: "action",
      text: unit === "bits" ? "Show rates in MB/s" : "Show rates in Mbps",
      choose: () => chooseRateUnit(unit === "bits" ? "bytes" : "bits"),
    },
    { id: "keys", kind: "action", text: "Keys", note: "?", choose: onHelp },
    ...(runs.data ?? []).map((run) => ({
      id: `run ${run.name}`,
      kind: "run",
      text: run.name,
      note: run.writerNodeName ?? undefined,
      choose: go(`/runs/${encodeURIComponent(run.name)}`),
    })),
    ...[...(nodes?.values() ?? [])].map((node) => ({
      id: `node ${node.id}`,
      kind: "node",
      text: node.name,
      note: nodeFactsLine(node),
      choose: go(`/nodes/${encodeURIComponent(node.id)}`),
    })),
  ];
}
