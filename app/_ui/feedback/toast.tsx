"use client";
import { useSyncExternalStore } from "react";
import { X } from "lucide-react";
import { Button, IconButton } from "../controls/button.tsx";
import { Mark, type Tone } from "../indicators/mark.tsx";
import { visibleText } from "../text/visible-text.ts";

interface Note {
  id: number;
  tone: Tone;
  text: string;
  undo: (() => void) | null;
}

const SHOWN_MS = 6000;
/** Longer than `SHOWN_MS`, so that there is time to read the message and reach the button. */
const UNDO_MS = 12_000;
let notes: readonly Note[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: readonly Note[]): void {
  notes = next;
  for (const listener of listeners) listener();
}

const drop = (id: number): void => change(notes.filter((note) => note.id !== id));

/** Shows one sentence as a toast for some seconds; screen readers announce it once. With `undo` the toast has an Undo button. */
export function say(tone: Tone, text: string, undo: (() => void) | null = null): void {
  const id = nextId++;
  change([...notes.slice(-2), { id, tone, text, undo }]);
  setTimeout(() => drop(id), undo === null ? SHOWN_MS : UNDO_MS);
}

const NONE: readonly Note[] = [];
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    subscribe,
    () => notes,
    () => NONE,
  );
  return (
    <output
      aria-live="polite"
      className="pointer-events-none fixed inset-x-3 bottom-20 z-[80] flex flex-col items-center gap-2 md:inset-x-auto md:right-6 md:bottom-6 md:items-end"
    >
      {shown.map((note) => (
        <div
          key={note.id}
          className="pointer-events-auto flex max-w-[440px] items-center gap-3 rounded-2 border border-line bg-panel py-1.5 pr-1.5 pl-4 shadow-lift"
        >
          <Mark tone={note.tone} />
          <span className="min-w-0">{visibleText(note.text)}</span>
          {note.undo !== null && (
            <Button
              size="small"
              onClick={() => {
                drop(note.id);
                note.undo?.();
              }}
            >
              Undo
            </Button>
          )}
          <IconButton label="Dismiss" onClick={() => drop(note.id)}>
            <X size={14} />
          </IconButton>
        </div>
      ))}
    </output>
  );
}
