"use client";
import type { StartedRestore as Started } from "#protocol/wire/restoring.ts";
import type { RestorePlan } from "#protocol/wire/views.ts";
import { useLiveTransfer } from "../_hub/live/live.tsx";
import { isEnded } from "../_hub/transfers/transfer-words.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { ManyProgress } from "./many-progress.tsx";
import { RestoreProgress } from "./restore-progress.tsx";

interface StartedRestoreProps {
  title: string;
  plan: RestorePlan;
  /** One entry per node. */
  started: readonly Started[];
  nodeName: string | undefined;
  targetPath: string;
  onClose: () => void;
}

/** Shows started restores until the person closes the dialog. They continue without this page. */
export function StartedRestore({ title, plan, started, nodeName, targetPath, onClose }: StartedRestoreProps) {
  const isOne = started.length === 1;
  const transferId = (isOne ? started[0]?.transferId : null) ?? null;
  const transfer = useLiveTransfer(transferId);
  const running = transfer === null || !isEnded(transfer.state);
  const where = isOne ? visibleText(nodeName ?? "the node") : "the nodes";
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      footer={
        <>
          <span className="min-w-0 flex-1 text-soft">
            {(!isOne || running) && `Runs on ${where}. You can close this page.`}
          </span>
          <Button onClick={onClose}>Close</Button>
        </>
      }
    >
      {transferId === null ? (
        <ManyProgress restores={started} checkpoint={plan.checkpoint} queue={plan.queue} />
      ) : (
        <RestoreProgress
          transferId={transferId}
          checkpoint={plan.checkpoint}
          nodeName={nodeName ?? "the node"}
          targetPath={targetPath}
          chosen={plan.chosen}
        />
      )}
    </Dialog>
  );
}
