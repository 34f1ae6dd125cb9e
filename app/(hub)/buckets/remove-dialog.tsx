"use client";
import { useQueryClient } from "@tanstack/react-query";
import { formatCount } from "#protocol/base/units.ts";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { hub } from "../../_hub/queries/client.ts";
import { ConfirmDialog, REMOVE_WORDS } from "../../_hub/actions/confirm-dialog.tsx";
import { say } from "../../_ui/feedback/toast.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";

export function RemoveDialog({ view, onClose }: { view: ProfileView; onClose: () => void }) {
  const client = useQueryClient();
  return (
    <ConfirmDialog
      title={`Remove ${visibleText(view.profile.name)}?`}
      words={REMOVE_WORDS}
      run={() => hub.profiles.remove.mutate({ id: view.id })}
      onDone={() => {
        void client.invalidateQueries({ queryKey: ["profiles"] });
        say("quiet", `${view.profile.name} was removed.`);
      }}
      onClose={onClose}
    >
      The profile and its sealed key are removed from the hub. Nothing in the bucket is touched.
      {view.nodes + view.runs > 0 &&
        ` ${formatCount(view.nodes)} ${view.nodes === 1 ? "node" : "nodes"} and ${formatCount(view.runs)} ${view.runs === 1 ? "run" : "runs"} use it.`}
    </ConfirmDialog>
  );
}
