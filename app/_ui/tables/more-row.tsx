import type { ReactNode } from "react";
import { Button } from "../controls/button.tsx";

interface MoreRowProps {
  /** What the button is called: "Earlier", "More". */
  word: string;
  /** Null where the list ends. */
  onMore: (() => void) | null;
  state?: "loading" | "idle";
  /** Quiet words about what is shown. */
  note?: ReactNode;
}

/** The end of a list of which only the beginning is drawn. Nothing where there is no more and nothing to say. */
export function MoreRow({ word, onMore, state = "idle", note }: MoreRowProps) {
  if (onMore === null && note === undefined) return null;
  return (
    <div className="flex items-center gap-3 border-t border-line px-3 py-2">
      {onMore !== null && (
        <Button look="quiet" size="small" disabled={state === "loading"} onClick={onMore}>
          {state === "loading" ? "Loading" : word}
        </Button>
      )}
      {note !== undefined && <span className="nums px-1 text-12 text-faint">{note}</span>}
    </div>
  );
}
