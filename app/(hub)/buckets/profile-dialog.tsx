"use client";
import type { ProfileView } from "#protocol/wire/profile-views.ts";
import { ProfileFormView } from "../../_buckets/profile-form.tsx";
import { Dialog } from "../../_ui/layout/dialog.tsx";
import { say } from "../../_ui/feedback/toast.tsx";
import { visibleText } from "../../_ui/text/visible-text.ts";

export function ProfileDialog({ edited, onClose }: { edited: ProfileView | null; onClose: () => void }) {
  return (
    <Dialog
      open
      onClose={onClose}
      title={edited === null ? "Add bucket" : `Edit ${visibleText(edited.profile.name)}`}
      intro={edited === null ? "A profile says where nodes save and with which key the hub signs for them." : undefined}
    >
      <ProfileFormView
        edited={edited}
        saveWord={edited === null ? "Add bucket" : "Save"}
        onSaved={(profile) => {
          say("safe", `${profile.profile.name} is saved.`);
          onClose();
        }}
      />
    </Dialog>
  );
}
