"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { accountDraft, accountKey, type AccountView } from "#protocol/groups/groups.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { SecretField } from "../_forms/secret-field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { hub } from "../_hub/queries/client.ts";
import { say } from "../_ui/feedback/toast.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";

/** Shows a form for an account at SaladCloud. */
export function AccountDialog({ edited, onClose }: { edited: AccountView | null; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState<string>(edited?.account.name ?? "salad");
  const [organization, setOrganization] = useState(edited?.account.organization ?? "");
  const [project, setProject] = useState(edited?.account.project ?? "");
  const [key, setKey] = useState("");
  const account = accountDraft.safeParse({ name: name.trim(), organization, project });
  const typed = accountKey.safeParse(key);
  const keepsKey = edited !== null && key === "";
  const errorAt = (field: string): string | undefined =>
    account.success ? undefined : account.error.issues.find(({ path }) => path[0] === field)?.message;
  const errors = {
    "account.name": errorAt("name"),
    "account.organization": errorAt("organization"),
    "account.project": errorAt("project"),
    key: typed.success || keepsKey ? undefined : typed.error?.issues[0]?.message,
  };
  const save = useAction(async () => {
    if (!account.success) return "";
    const draft = account.data;
    if (edited === null) await hub.groups.accounts.create.mutate({ account: draft, key });
    else {
      const { id, version } = edited;
      await hub.groups.accounts.update.mutate({ id, version, account: draft, key: keepsKey ? null : key });
    }
    return draft.name;
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={edited === null ? "Add account" : `Edit ${visibleText(edited.account.name)}`}
      intro={
        edited === null
          ? "An organization and a project of SaladCloud. The key is sealed in the hub and never shown again."
          : "The key is never shown. Left empty, it stays."
      }
    >
      <Form
        label="Account"
        errors={errors}
        actions={[save]}
        onSubmit={() =>
          save.run(undefined, (saved) => {
            void client.invalidateQueries({ queryKey: ["groups"] });
            say("safe", `${saved} is saved.`);
            onClose();
          })
        }
      >
        <TextField label="Name" path="account.name" required value={name} maxLength={64} onChange={setName} />
        <TextField
          label="Organization"
          hint="As in the address of SaladCloud's portal."
          path="account.organization"
          required
          kind="code"
          value={organization}
          maxLength={64}
          onChange={setOrganization}
        />
        <TextField
          label="Project"
          path="account.project"
          required
          kind="code"
          value={project}
          maxLength={64}
          onChange={setProject}
        />
        <SecretField label="API key" path="key" required={edited === null} value={key} onChange={setKey} />
        <FormFault />
        <FormEnd
          word={edited === null ? "Add account" : "Save"}
          busyWord="Saving"
          busy={save.busy}
          onCancel={onClose}
        />
      </Form>
    </Dialog>
  );
}
