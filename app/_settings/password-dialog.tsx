"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { sessionsQuery } from "../_hub/queries/queries.ts";
import { useAction } from "../_hub/actions/use-action.ts";
import { FormEnd } from "../_forms/form-end.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { say } from "../_ui/feedback/toast.tsx";
import { SHORTEST_PASSWORD } from "#protocol/base/password.ts";

type Typed = Record<"old" | "password" | "again", string>;

function wrongWith({ old, password, again }: Typed): Partial<Typed> {
  if (old === "") return { old: "The password you have now." };
  if (password.length < SHORTEST_PASSWORD)
    return { password: `A password has at least ${SHORTEST_PASSWORD} characters.` };
  if (password !== again) return { again: "The two are not the same." };
  return {};
}

const FIELDS = [
  { name: "old", label: "Present password", autoComplete: "current-password" },
  { name: "password", label: "New password", autoComplete: "new-password" },
  { name: "again", label: "Once more", autoComplete: "new-password" },
] as const;

export function PasswordDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [typed, setTyped] = useState<Typed>({ old: "", password: "", again: "" });
  const change = useAction((input: { old: string; password: string }) => hub.auth.changePassword.mutate(input));
  return (
    <Dialog
      open
      onClose={onClose}
      width="narrow"
      title="Change password"
      intro="It ends all your other sessions. API tokens stay."
    >
      <Form
        label="Change password"
        errors={wrongWith(typed)}
        actions={[change]}
        onSubmit={() =>
          change.run({ old: typed.old, password: typed.password }, () => {
            void client.invalidateQueries({ queryKey: sessionsQuery().queryKey });
            say("safe", "The password is changed.");
            onClose();
          })
        }
      >
        {FIELDS.map(({ name, label, autoComplete }) => (
          <TextField
            key={name}
            label={label}
            hint={name === "password" ? `At least ${SHORTEST_PASSWORD} characters.` : undefined}
            path={name}
            required
            type="password"
            autoComplete={autoComplete}
            value={typed[name]}
            onChange={(value) => setTyped((was) => ({ ...was, [name]: value }))}
          />
        ))}
        <FormFault />
        <FormEnd word="Change password" busyWord="Changing" busy={change.busy} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
