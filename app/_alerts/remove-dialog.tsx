"use client";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FaultNote } from "../_hub/fault-note.tsx";
import { useAction } from "../_hub/use-action.ts";
import { Button } from "../_ui/button.tsx";
import { Dialog } from "../_ui/dialog.tsx";
import { say } from "../_ui/toast.tsx";
import { visibleText } from "../_ui/visible-text.ts";

interface RemoveDialogProps {
  name: string;
  remove: () => Promise<unknown>;
  onClose: () => void;
  /** What goes with it. */
  children: ReactNode;
}

export function RemoveDialog({ name, remove, onClose, children }: RemoveDialogProps) {
  const client = useQueryClient();
  const action = useAction(remove);
  return (
    <Dialog
      open
      onClose={onClose}
      width="narrow"
      title={`Remove ${visibleText(name)}?`}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Keep it</Button>
          <Button
            look="danger"
            disabled={action.busy}
            onClick={() =>
              action.run(undefined, () => {
                void client.invalidateQueries({ queryKey: ["alerts"] });
                say("quiet", `${name} was removed.`);
                onClose();
              })
            }
          >
            {action.busy ? "Removing" : "Remove"}
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
