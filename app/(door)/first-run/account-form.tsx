"use client";
import { useState } from "react";
import type { HubStatus } from "#protocol/wire/views.ts";
import { hub } from "../../_hub/queries/client.ts";
import { Form, FormFault } from "../../_forms/form.tsx";
import { useAction } from "../../_hub/actions/use-action.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { TextField } from "../../_forms/text-field.tsx";
import { accountErrors } from "./account-errors.ts";
import { SHORTEST_PASSWORD } from "#protocol/base/password.ts";

/**
 * Shows the form for the first account. Its setup code is printed on the hub's console, so only somebody with access to
 * it can claim the hub.
 */
export function AccountForm({ onDone }: { onDone: (status: HubStatus) => void }) {
  const [typed, setTyped] = useState({ code: "", email: "", password: "" });
  const setup = useAction((input: typeof typed) => hub.auth.setup.mutate(input));
  const set = (part: Partial<typeof typed>): void => setTyped((old) => ({ ...old, ...part }));
  return (
    <Form
      label="First account"
      errors={accountErrors(typed)}
      actions={[setup]}
      onSubmit={() => setup.run({ ...typed, code: typed.code.trim() }, onDone)}
    >
      <TextField
        label="Setup code"
        hint="The hub printed it on its console when it started; it is valid for an hour. In a container, look at its log."
        path="code"
        required
        kind="code"
        value={typed.code}
        onChange={(value) => set({ code: value })}
      />
      <TextField
        label="E-mail"
        path="email"
        required
        type="email"
        autoComplete="username"
        value={typed.email}
        onChange={(value) => set({ email: value })}
      />
      <TextField
        label="Password"
        hint={`At least ${SHORTEST_PASSWORD} characters.`}
        path="password"
        required
        type="password"
        autoComplete="new-password"
        value={typed.password}
        onChange={(value) => set({ password: value })}
      />
      <FormFault />
      <div className="flex justify-end pt-2">
        <Button type="submit" look="main" disabled={setup.busy}>
          {setup.busy ? "Creating" : "Create account"}
        </Button>
      </div>
    </Form>
  );
}
