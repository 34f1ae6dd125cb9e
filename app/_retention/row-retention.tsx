"use client";
import { stepWords } from "#protocol/checkpoint/step-words.ts";
import { Pin, StickyNote, Tags } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import type { CheckpointRow } from "#protocol/wire/views.ts";
import { useWhyNot } from "../_hub/session/person.tsx";
import { IconButton } from "../_ui/controls/button.tsx";
import { onDemand } from "../_ui/loading/on-demand.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { useKeep, useKeeping } from "./use-keep.ts";

const KeepDialog = onDemand(() => import("./keep-dialog.tsx").then((module) => module.KeepDialog));

const MOST_TAGS = 2;

/** Shows tags, note and pin of a checkpoint beside its step, in one line so that all rows have the same height. */
export function KeepMarks({ row }: { row: CheckpointRow }) {
  const { tags, note, isPinned } = useKeeping(row);
  return (
    <span className="ml-2 inline-flex items-center gap-1 align-middle whitespace-nowrap max-sm:hidden">
      {tags.slice(0, MOST_TAGS).map((tag) => (
        <Tag key={tag} tone="safe" kind="plain">
          {visibleText(tag)}
        </Tag>
      ))}
      {tags.length > MOST_TAGS && (
        <span className="text-12 text-faint" title={tags.map(visibleText).join(", ")}>
          +{tags.length - MOST_TAGS}
        </span>
      )}
      {note !== null && (
        <span title={visibleText(note)} className="text-faint">
          <StickyNote size={13} aria-hidden />
          <span className="sr-only">has a note</span>
        </span>
      )}
      {isPinned && <span className="sr-only">pinned</span>}
    </span>
  );
}

/** Returns the first tag as text, for narrow screens. */
export function tagWords({ keeping: { tags } }: Pick<CheckpointRow, "keeping">): string {
  const [first] = tags;
  if (first === undefined) return "";
  return tags.length === 1 ? `, ${visibleText(first)}` : `, ${visibleText(first)} +${tags.length - 1}`;
}

/** Returns a key handler: `p` pins or unpins the row while its link has the focus. Rows that cannot be pinned ignore it. */
export function usePinKey(row: CheckpointRow): (event: KeyboardEvent) => void {
  const whyNot = useWhyNot("operator");
  const keep = useKeep(row);
  const { isPinned } = useKeeping(row);
  return (event) => {
    if (event.key !== "p" || event.metaKey || event.ctrlKey || event.altKey) return;
    if (row.state !== "complete" || whyNot !== null) return;
    event.preventDefault();
    keep({ verb: isPinned ? "unpin" : "pin" });
  };
}

/** Buttons of a row: pin, and a dialog with the other retention controls. */
export function RowRetention({ row }: { row: CheckpointRow }) {
  const whyNot = useWhyNot("operator");
  const keep = useKeep(row);
  const { isPinned } = useKeeping(row);
  const [open, setOpen] = useState(false);
  if (row.state !== "complete") return null;
  const step = stepWords(row.step);
  return (
    <>
      <IconButton
        size="small"
        label={`${isPinned ? "Unpin" : "Pin"} ${step}`}
        aria-pressed={isPinned}
        disabled={whyNot !== null}
        title={whyNot ?? (isPinned ? "Pinned: it never goes" : "Pin: it never goes")}
        onClick={() => keep({ verb: isPinned ? "unpin" : "pin" })}
      >
        <Pin size={14} aria-hidden className={isPinned ? "fill-accent text-accent" : undefined} />
      </IconButton>
      <IconButton size="small" label={`Tags, note and trash of ${step}`} onClick={() => setOpen(true)}>
        <Tags size={14} aria-hidden />
      </IconButton>
      {open && <KeepDialog row={row} onClose={() => setOpen(false)} />}
    </>
  );
}
