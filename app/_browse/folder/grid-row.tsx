"use client";
import { File, Folder as FolderIcon } from "lucide-react";
import type { MouseEvent } from "react";
import { formatCount } from "#protocol/base/units.ts";
import { wordsOf } from "../../_hub/faults/fault-of.ts";
import { Age } from "../../_hub/live/age.tsx";
import { Skeleton } from "../../_ui/loading/skeleton.tsx";
import { classNames } from "../../_ui/rendering/class-names.ts";
import { formatBytes } from "../../_ui/text/sizes.ts";
import { shortText, visibleText } from "../../_ui/text/visible-text.ts";
import type { FolderSize } from "./folder-sizes.ts";
import type { BucketRow } from "./folder-pages.ts";

const CELL = "h-[34px] border-b border-line p-0";

/** Longest name shown, in characters. Longer names are shortened in the middle, because their ends differ. */
const LONGEST = 220;

interface GridRowProps {
  index: number;
  /** Null until it is loaded. */
  row: BucketRow | null;
  prefix: string;
  folderSize: FolderSize | null;
  isActive: boolean;
  isChosen: boolean;
  isOpen: boolean;
  onClick: (event: MouseEvent) => void;
  onChoose: (event: MouseEvent) => void;
}

function sizeWords({ bytes, state }: FolderSize): string {
  switch (state) {
    case "counting":
      return `${formatBytes(bytes)}…`;
    case "whole":
      return formatBytes(bytes);
    case "partial":
      return `> ${formatBytes(bytes)}`;
    case "failed":
      return "not known";
  }
}

function countWords({ objects, state, fault }: FolderSize): string {
  if (fault !== null) return `It could not be counted: ${wordsOf(fault).says}`;
  const count = `${formatCount(objects)} ${objects === 1 ? "object" : "objects"}`;
  return state === "whole" ? count : `${count} counted, there are more`;
}

/** Shows one object or folder of the list; a skeleton until it is loaded. */
export function GridRow({
  index,
  row,
  prefix,
  folderSize,
  isActive,
  isChosen,
  isOpen,
  onClick,
  onChoose,
}: GridRowProps) {
  const name = row === null ? "" : row.key.slice(prefix.length);
  const Picture = row?.kind === "folder" ? FolderIcon : File;
  const shown = shortText(name === "" && row !== null ? row.key : name, LONGEST);
  return (
    <tr
      id={`row-${index}`}
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      className={classNames(
        "hover:bg-bg",
        isChosen && "bg-sunk",
        isOpen && "bg-sunk font-mid",
        isActive && "group-focus-visible/list:shadow-[inset_2px_0_0_var(--accent)]",
      )}
    >
      <td className={classNames(CELL, "text-center")}>
        <button
          type="button"
          tabIndex={-1}
          disabled={row === null}
          aria-label={`${isChosen ? "Leave out" : "Choose"} ${shortText(name, 80)}`}
          aria-pressed={isChosen}
          onClick={onChoose}
          className="group/choose inline-grid size-6 place-items-center align-middle"
        >
          <span
            className={classNames(
              "size-[15px] rounded-1 border",
              isChosen ? "border-accent bg-accent" : "border-edge bg-panel group-hover/choose:border-accent",
            )}
          />
        </button>
      </td>
      <td className={CELL}>
        {row === null ? (
          <Skeleton className="h-3 w-40" />
        ) : (
          <span className="flex min-w-0 items-center gap-2">
            <Picture
              size={14}
              aria-hidden
              className={row.kind === "folder" ? "shrink-0 text-accent" : "shrink-0 text-faint"}
            />
            <button
              type="button"
              tabIndex={-1}
              onClick={onClick}
              title={visibleText(row.key).slice(0, 1200)}
              dir="ltr"
              className="min-h-6 min-w-0 truncate text-left hover:underline"
            >
              {shown}
            </button>
          </span>
        )}
      </td>
      <td className={classNames(CELL, "nums truncate text-right text-soft")}>
        <span className="pr-4" title={folderSize === null ? undefined : countWords(folderSize)}>
          {row?.kind === "object" ? formatBytes(row.sizeBytes) : folderSize !== null && sizeWords(folderSize)}
        </span>
      </td>
      <td className={classNames(CELL, "truncate text-right text-12 text-faint max-sm:hidden")}>
        <span className="pr-4">{row?.kind === "object" && <Age at={row.modifiedAt} />}</span>
      </td>
    </tr>
  );
}
