"use client";
import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ConfirmDialog, REMOVE_WORDS } from "../_hub/actions/confirm-dialog.tsx";
import { useTakeBack } from "../_hub/actions/use-take-back.ts";
import { say } from "../_ui/feedback/toast.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

interface RemoveDialogProps {
  name: string;
  remove: () => Promise<unknown>;
  /** Creates an equal one for Undo. Absent when the hub holds a secret of it that pages never see. */
  bringBack?: () => Promise<unknown>;
  onClose: () => void;
  /** Consequences of the removal. */
  children: ReactNode;
}

export function RemoveDialog({ name, remove, bringBack, onClose, children }: RemoveDialogProps) {
  const client = useQueryClient();
  const takeBack = useTakeBack("alerts");
  return (
    <ConfirmDialog
      title={`Remove ${visibleText(name)}?`}
      words={REMOVE_WORDS}
      run={remove}
      onDone={() => {
        void client.invalidateQueries({ queryKey: ["alerts"] });
        const undo = bringBack === undefined ? null : takeBack(bringBack, `${visibleText(name)} is there again.`);
        say("quiet", `${visibleText(name)} was removed.`, undo);
      }}
      onClose={onClose}
    >
      {children}
    </ConfirmDialog>
  );
}
