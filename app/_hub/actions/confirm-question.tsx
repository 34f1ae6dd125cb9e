"use client";
import type { ReactNode } from "react";
import { FaultNote } from "../faults/fault-note.tsx";
import { useAction } from "./use-action.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { Dialog } from "../../_ui/layout/dialog.tsx";

export interface ConfirmProps {
  /** A question: `Remove ada@example.com?` */
  title: string;
  /** Text of the confirming button, its text while the action runs, and the text of the button that cancels. */
  words: { button: string; busy: string; keep: string };
  run: () => Promise<unknown>;
  onDone: () => void;
  onClose: () => void;
  /** Consequences: what is removed and what remains. */
  children: ReactNode;
}

/** Shows the dialog itself. Pages import it from `confirm-dialog.tsx`, which loads it on demand. */
export function ConfirmQuestion({ title, words, run, onDone, onClose, children }: ConfirmProps) {
  const action = useAction(run);
  return (
    <Dialog
      open
      onClose={onClose}
      width="narrow"
      title={title}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>{words.keep}</Button>
          <Button
            look="danger"
            disabled={action.busy}
            onClick={() =>
              action.run(undefined, () => {
                onDone();
                onClose();
              })
            }
          >
            {action.busy ? words.busy : words.button}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <p>{children}</p>
        {action.fault !== null && <FaultNote fault={action.fault} />}
      </div>
    </Dialog>
  );
}
