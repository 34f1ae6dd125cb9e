"use client";
import { useQueryClient } from "@tanstack/react-query";
import type { UserView } from "#protocol/fleet/people.ts";
import { hub } from "../_hub/queries/client.ts";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { LinkOnce } from "./link-once.tsx";

/** Creates a link to reset a password. The old password works until the link is used. */
export function ResetDialog({ user, onClose }: { user: UserView; onClose: () => void }) {
  const client = useQueryClient();
  const make = useAction(() => hub.users.resetPassword.mutate({ id: user.id }));
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Reset the password of ${visibleText(user.email)}`}
      footer={
        <>
          <span className="flex-1" />
          {make.result === undefined ? (
            <>
              <Button onClick={onClose}>Cancel</Button>
              <Button
                look="main"
                disabled={make.busy}
                onClick={() => make.run(undefined, () => void client.invalidateQueries({ queryKey: ["account"] }))}
              >
                {make.busy ? "Making" : "Make link"}
              </Button>
            </>
          ) : (
            <Button look="main" onClick={onClose}>
              Done
            </Button>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-3">
        {make.result === undefined ? (
          <p>Makes a link to pass on, valid for a day. The present password works until it is used.</p>
        ) : (
          <LinkOnce made={make.result} />
        )}
        {make.fault !== null && <FaultNote fault={make.fault} />}
      </div>
    </Dialog>
  );
}
