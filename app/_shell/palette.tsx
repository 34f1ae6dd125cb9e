"use client";
import { Dialog as Base } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useId, useState, type KeyboardEvent } from "react";
import { chooseRateUnit, chooseTheme, useRateUnit } from "../_hub/choices.ts";
import { useNodes } from "../_hub/live.tsx";
import { runsQuery } from "../_hub/queries.ts";
import { Key } from "../_ui/button.tsx";
import { classNames } from "../_ui/class-names.ts";
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
  const [at, setAt] = useState(0);
  const list = useId();
  const entries = usePaletteEntries(onHelp);
  const found = bestMatches(entries, typed, SHOWN);
  const chosen = found[Math.min(at, found.length - 1)];

  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    entry.choose();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter") {
      event.preventDefault();
      choose(chosen);
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = (Math.min(at, found.length - 1) + step + found.length) % Math.max(1, found.length);
    setAt(next);
    document.getElementById(`${list}-${next}`)?.scrollIntoView({ block: "nearest" });
  };

  return (
    <Base.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-veil" />
        <Base.Popup
          aria-label="Find"
          className="fixed top-[10vh] left-1/2 z-50 flex max-h-[70vh] w-[min(620px,calc(100vw-24px))] -translate-x-1/2 flex-col rounded-3 border border-line bg-panel text-ink shadow-lift outline-none"
        >
          <input
            role="combobox"
            aria-label="Find a node, run or action"
            aria-expanded
            aria-controls={list}
            aria-activedescendant={chosen === undefined ? undefined : `${list}-${found.indexOf(chosen)}`}
            placeholder="Find a node, run or action"
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              setAt(0);
            }}
            onKeyDown={press}
            className="w-full rounded-t-3 border-b border-line bg-transparent px-4 py-3 text-15 outline-none placeholder:text-faint max-sm:text-[16px]"
          />
          <div id={list} role="listbox" aria-label="Results" className="min-h-0 flex-1 overflow-y-auto p-1.5">
            {found.map((entry, index) => (
              <div
                key={entry.id}
                id={`${list}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={entry === chosen}
                onPointerMove={() => setAt(index)}
                onClick={() => choose(entry)}
                onKeyDown={press}
                className={classNames(
                  "flex cursor-pointer items-center gap-3 rounded-md px-2.5 py-1.5",
                  entry === chosen && "bg-sunk",
                )}
              >
                <span className="w-14 shrink-0 text-12 text-faint">{entry.kind}</span>
                <span className="min-w-0 truncate">{visibleText(entry.text)}</span>
                {entry.note !== undefined && (
                  <span className="ml-auto truncate text-12 text-faint">{visibleText(entry.note)}</span>
                )}
                {entry === chosen && (
                  <span className={entry.note === undefined ? "ml-auto" : ""}>
                    <Key>↵</Key>
                  </span>
                )}
              </div>
            ))}
          </div>
          {found.length === 0 && <p className="px-4 pb-4 text-soft">Nothing matches “{visibleText(typed)}”.</p>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
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
      note: node.facts.gpu ?? undefined,
      choose: go(`/nodes/${encodeURIComponent(node.id)}`),
    })),
  ];
}
