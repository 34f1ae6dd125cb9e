"use client";
import { createContext, use, useState, type ReactNode } from "react";
import { useNode } from "../_hub/live/live.tsx";
import type { CommandKind } from "../_commands/command-form.ts";
import type { RestoreRequest } from "../_restore/restore-choice.ts";
import { onDemand } from "../_ui/loading/on-demand.tsx";

/** Request for the command dialog. The dialogs of this module open from any page and are loaded on first use. */
interface OrderRequest {
  nodeId: string;
  kind: CommandKind;
}
interface Dialogs {
  addNode: () => void;
  restore: (request: RestoreRequest) => void;
  order: (request: OrderRequest) => void;
}

const DialogsContext = createContext<Dialogs>({
  addNode: () => undefined,
  restore: () => undefined,
  order: () => undefined,
});
export const useDialogs = (): Dialogs => use(DialogsContext);

const AddNodeDialog = onDemand(() => import("../_add-node/add-node-dialog.tsx").then((module) => module.AddNodeDialog));
const CommandDialog = onDemand(() => import("../_commands/command-dialog.tsx").then((module) => module.CommandDialog));
const RestoreDialog = onDemand(() => import("../_restore/restore-dialog.tsx").then((module) => module.RestoreDialog));

export function DialogsProvider({ children }: { children: ReactNode }) {
  const [adding, setAdding] = useState(false);
  const [restoring, setRestoring] = useState<RestoreRequest | null>(null);
  const [ordering, setOrdering] = useState<OrderRequest | null>(null);
  const ordered = useNode(ordering?.nodeId ?? "");
  return (
    <DialogsContext value={{ addNode: () => setAdding(true), restore: setRestoring, order: setOrdering }}>
      {children}
      {adding && <AddNodeDialog onClose={() => setAdding(false)} />}
      {ordering !== null && ordered !== null && (
        <CommandDialog nodes={[ordered]} kind={ordering.kind} onClose={() => setOrdering(null)} />
      )}
      {restoring !== null && <RestoreDialog request={restoring} onClose={() => setRestoring(null)} />}
    </DialogsContext>
  );
}
