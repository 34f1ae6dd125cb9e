"use client";
import type { ReactNode } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { formatBytes } from "../../_ui/text/sizes.ts";
import { countChosen } from "./read-selection.ts";
import type { Selection } from "./selection.ts";

interface SelectionBarProps {
  selection: Selection;
  onClear: () => void;
  /** Actions on the selection. */
  children?: ReactNode;
}

/** Shows the size of the selection and the actions on it. */
export function SelectionBar({ selection, onClear, children }: SelectionBarProps) {
  const { objects, bytes, folders } = countChosen(selection);
  const words = [
    ...(objects > 0 ? [`${formatCount(objects)} ${objects === 1 ? "object" : "objects"}, ${formatBytes(bytes)}`] : []),
    ...(folders > 0 ? [`${formatCount(folders)} ${folders === 1 ? "folder" : "folders"} with all that is below`] : []),
  ];
  return (
    <section
      aria-label="Chosen"
      className="sticky bottom-0 z-10 flex flex-wrap items-center gap-2 border-t border-line bg-panel px-4 py-2"
    >
      <span className="nums min-w-0 flex-1 basis-48">{words.join(" and ")}</span>
      {children}
      <Button size="small" look="quiet" onClick={onClear}>
        Clear
      </Button>
    </section>
  );
}
