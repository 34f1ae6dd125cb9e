"use client";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ConfirmDialog, REMOVE_WORDS } from "../_hub/confirm-dialog.tsx";
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
  return (
    <ConfirmDialog
      title={`Remove ${visibleText(name)}?`}
      words={REMOVE_WORDS}
      run={remove}
      onDone={() => {
        void client.invalidateQueries({ queryKey: ["alerts"] });
        say("quiet", `${name} was removed.`);
      }}
      onClose={onClose}
    >
      {children}
    </ConfirmDialog>
  );
}
