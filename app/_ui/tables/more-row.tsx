import type { ReactNode } from "react";
import { Button } from "../controls/button.tsx";

interface MoreRowProps {
  /** Text of the button: "Earlier", "More". */
  word: string;
  /** Null at the end of the list. */
  onMore: (() => void) | null;
  state?: "loading" | "idle";
  /** Secondary text about what is shown. */
  note?: ReactNode;
}

/** Shows the row after a partially drawn list. Renders nothing without more rows and without a note. */
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
