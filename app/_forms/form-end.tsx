import type { ReactNode } from "react";
import { Button } from "../_ui/controls/button.tsx";

interface FormEndProps {
  /** What the button that sends the form says, and what it says while that is under way. */
  word: string;
  busyWord: string;
  busy: boolean;
  /** It cannot be sent for another reason. */
  disabled?: boolean;
  onCancel?: () => void;
  /** Stands before the buttons: words at the left, another button. */
  children?: ReactNode;
}

/** The end of a form in a dialog; in sight while its fields scroll. */
export function FormEnd({ word, busyWord, busy, disabled = false, onCancel, children }: FormEndProps) {
  return (
    <div className="sticky bottom-[-12px] z-10 -mx-5 mt-3 -mb-3 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-panel px-5 py-3">
      {children}
      {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
      <Button type="submit" look="main" disabled={busy || disabled}>
        {busy ? busyWord : word}
      </Button>
    </div>
  );
}
