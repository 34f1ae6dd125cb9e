"use client";
import { useQueryClient } from "@tanstack/react-query";
import { formatCount } from "#protocol/units.ts";
import type { ProfileView } from "#protocol/profile-views.ts";
import { hub } from "../../_hub/client.ts";
import { FaultNote } from "../../_hub/fault-note.tsx";
import { useAction } from "../../_hub/use-action.ts";
import { Button } from "../../_ui/button.tsx";
import { Dialog } from "../../_ui/dialog.tsx";
import { say } from "../../_ui/toast.tsx";
import { visibleText } from "../../_ui/visible-text.ts";

export function RemoveDialog({ view, onClose }: { view: ProfileView; onClose: () => void }) {
  const client = useQueryClient();
  const name = visibleText(view.profile.name);
  const remove = useAction(() => hub.profiles.remove.mutate({ id: view.id }));
  return (
    <Dialog
      open
      onClose={onClose}
      width="narrow"
      title={`Remove ${name}?`}
      footer={
        <>
          <span className="flex-1" />
          <Button onClick={onClose}>Keep it</Button>
          <Button
            look="danger"
            disabled={remove.busy}
            onClick={() =>
              remove.run(undefined, () => {
                void client.invalidateQueries({ queryKey: ["profiles"] });
                say("quiet", `${view.profile.name} was removed.`);
                onClose();
              })
            }
          >
            {remove.busy ? "Removing" : "Remove"}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <p>
          The profile and its sealed key are removed from the hub. Nothing in the bucket is touched.
          {view.nodes + view.runs > 0 &&
            ` ${formatCount(view.nodes)} ${view.nodes === 1 ? "node" : "nodes"} and ${formatCount(view.runs)} ${view.runs === 1 ? "run" : "runs"} use it.`}
        </p>
        {remove.fault !== null && <FaultNote fault={remove.fault} />}
      </div>
    </Dialog>
  );
}
