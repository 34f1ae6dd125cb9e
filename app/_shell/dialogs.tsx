"use client";
import { createContext, use, useState, type ReactNode } from "react";
import { onDemand } from "../_ui/on-demand.tsx";

/** The two dialogs that can be opened from anywhere. They are loaded when first asked for. */
export interface RestoreRequest {
  /** Null lets the person choose the run first. */
  checkpointId: string | null;
  nodeId: string | null;
}
interface Dialogs {
  addNode: () => void;
  restore: (request: RestoreRequest) => void;
}

const DialogsContext = createContext<Dialogs>({ addNode: () => undefined, restore: () => undefined });
export const useDialogs = (): Dialogs => use(DialogsContext);

const AddNodeDialog = onDemand(() => import("../_add-node/add-node-dialog.tsx").then((module) => module.AddNodeDialog));
const RestoreDialog = onDemand(() => import("../_restore/restore-dialog.tsx").then((module) => module.RestoreDialog));

export function DialogsProvider({ children }: { children: ReactNode }) {
  const [adding, setAdding] = useState(false);
  const [restoring, setRestoring] = useState<RestoreRequest | null>(null);
  return (
    <DialogsContext value={{ addNode: () => setAdding(true), restore: setRestoring }}>
      {children}
      {adding && <AddNodeDialog onClose={() => setAdding(false)} />}
      {restoring !== null && <RestoreDialog request={restoring} onClose={() => setRestoring(null)} />}
    </DialogsContext>
  );
}
