"use client";
import type { NodeRow } from "#protocol/wire/views.ts";
import { hub } from "../../../_hub/queries/client.ts";
import { FaultNote } from "../../../_hub/faults/fault-note.tsx";
import { useAction } from "../../../_hub/actions/use-action.ts";
import { Banner } from "../../../_ui/feedback/banner.tsx";
import { Button } from "../../../_ui/controls/button.tsx";
import { Dialog } from "../../../_ui/layout/dialog.tsx";
import { say } from "../../../_ui/feedback/toast.tsx";
import { visibleText } from "../../../_ui/text/visible-text.ts";
import { formatBytes } from "../../../_ui/text/sizes.ts";

export function RevokeDialog({ node, onClose }: { node: NodeRow; onClose: () => void }) {
  const name = visibleText(node.name);
  const revoke = useAction(() => hub.nodes.revoke.mutate({ id: node.id }));
  return (
    <Dialog
      open
      onClose={onClose}
      width="narrow"
      title={`Revoke ${name}?`}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Keep it</Button>
          <Button
            look="danger"
            disabled={revoke.busy}
            onClick={() =>
              revoke.run(undefined, () => {
                say("quiet", `${node.name} was revoked.`);
                onClose();
              })
            }
          >
            {revoke.busy ? "Revoking" : "Revoke"}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <p>
          Its credential stops working at once: it can neither save nor restore any more. What it saved stays. To
          return, it must enroll again.
        </p>
        {node.risk.bytes > 0 && (
          <Banner tone="risk" title={`${formatBytes(node.risk.bytes)} on this node is not safe yet.`}>
            It would not be uploaded any more.
          </Banner>
        )}
        {revoke.fault !== null && <FaultNote fault={revoke.fault} />}
      </div>
    </Dialog>
  );
}
