import type { ReactNode } from "react";
import { Button } from "../_ui/controls/button.tsx";

interface FormEndProps {
  /** Text of the submit button; `busyWord` replaces it while submitting. */
  word: string;
  busyWord: string;
  busy: boolean;
  /** Disables the submit button for another reason. */
  disabled?: boolean;
  onCancel?: () => void;
  /** Content before the buttons: text at the left, another button. */
  children?: ReactNode;
}

/** Shows the bottom row of a form in a dialog, which stays in view while the fields scroll. */
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
