"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { email, type Role } from "#protocol/wire/requests.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Field } from "../_forms/field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { LinkOnce } from "./link-once.tsx";
import { isRole, lastingChoices, ROLE_CHOICES } from "./role-words.ts";

const LASTING = lastingChoices([1, 3, 7, 30]);

/** Creates an invitation link and shows it once. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [address, setAddress] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [validMs, setValidMs] = useState("259200000");
  const make = useAction((to: string) => hub.invitations.create.mutate({ email: to, role, validMs: Number(validMs) }));
  const made = make.result;
  const read = email.safeParse(address.trim());
  if (made !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title="The invitation is made"
        footer={
          <>
            <span className="flex-1" />
            <Button look="main" onClick={onClose}>
              Done
            </Button>
          </>
        }
      >
        <LinkOnce made={made} />
      </Dialog>
    );
  return (
    <Dialog open onClose={onClose} title="Invite somebody" intro="Makes a link to pass on; the hub mails nothing.">
      <Form
        label="Invitation"
        errors={{ email: read.success ? undefined : "This does not look like an e-mail address." }}
        actions={[make]}
        onSubmit={() => {
          if (read.success) make.run(read.data, () => void client.invalidateQueries({ queryKey: ["account"] }));
        }}
      >
        <TextField
          label="E-mail"
          hint="The name of the account."
          path="email"
          required
          type="email"
          value={address}
          maxLength={254}
          placeholder="ada@example.com"
          onChange={setAddress}
        />
        <Field label="Role">
          {(ids) => (
            <Select
              {...ids}
              label="Role"
              value={role}
              choices={ROLE_CHOICES}
              onChange={(value) => {
                if (isRole(value)) setRole(value);
              }}
            />
          )}
        </Field>
        <Field label="Good for">
          {(ids) => <Select {...ids} label="Good for" value={validMs} choices={LASTING} onChange={setValidMs} />}
        </Field>
        <FormFault />
        <FormEnd word="Make link" busyWord="Making" busy={make.busy} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
