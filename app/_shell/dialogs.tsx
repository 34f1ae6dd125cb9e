"use client";
import dynamic from "next/dynamic";
import { createContext, use, useState, type ReactNode } from "react";

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

const AddNodeDialog = dynamic(() => import("../_add-node/add-node-dialog.tsx").then((module) => module.AddNodeDialog), {
  ssr: false,
});
const RestoreDialog = dynamic(() => import("../_restore/restore-dialog.tsx").then((module) => module.RestoreDialog), {
  ssr: false,
});

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
