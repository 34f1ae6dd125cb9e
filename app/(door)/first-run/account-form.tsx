"use client";
import { useState } from "react";
import { setupInput } from "#protocol/requests.ts";
import type { HubStatus } from "#protocol/views.ts";
import { hub } from "../../_hub/client.ts";
import { FaultNote } from "../../_hub/fault-note.tsx";
import { useAction } from "../../_hub/use-action.ts";
import { Button } from "../../_ui/button.tsx";
import { Field, TextInput } from "../../_ui/field.tsx";

/** The first account. Whoever can read the hub's console holds the code; nobody else can take the hub. */
export function AccountForm({ onDone }: { onDone: (status: HubStatus) => void }) {
  const [typed, setTyped] = useState({ code: "", email: "", password: "" });
  const [asked, setAsked] = useState(false);
  const setup = useAction((input: typeof typed) => hub.auth.setup.mutate(input));
  const parsed = setupInput.safeParse({ ...typed, code: typed.code.trim() });
  const errorOf = (field: keyof typeof typed): string | undefined =>
    asked ? parsed.error?.issues.find((issue) => issue.path[0] === field)?.message : undefined;
  const set = (part: Partial<typeof typed>): void => setTyped((old) => ({ ...old, ...part }));
  return (
    <form
      aria-label="First account"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        setAsked(true);
        if (parsed.success) setup.run({ ...typed, code: typed.code.trim() }, onDone);
      }}
    >
      <Field
        label="Setup code"
        hint="The hub printed it on its console when it started; it is good for an hour. In a container, look at its log."
        error={typed.code === "" && asked ? "the code from the hub's console" : undefined}
      >
        {(ids) => (
          <TextInput {...ids} kind="code" value={typed.code} onChange={(event) => set({ code: event.target.value })} />
        )}
      </Field>
      <Field label="E-mail" error={errorOf("email")}>
        {(ids) => (
          <TextInput
            {...ids}
            type="email"
            autoComplete="username"
            value={typed.email}
            onChange={(event) => set({ email: event.target.value })}
          />
        )}
      </Field>
      <Field label="Password" hint="At least 12 characters." error={errorOf("password")}>
        {(ids) => (
          <TextInput
            {...ids}
            type="password"
            autoComplete="new-password"
            value={typed.password}
            onChange={(event) => set({ password: event.target.value })}
          />
        )}
      </Field>
      {setup.fault !== null && (
        <div className="py-2">
          <FaultNote fault={setup.fault} />
        </div>
      )}
      <div className="flex justify-end pt-2">
        <Button type="submit" look="main" disabled={setup.busy}>
          {setup.busy ? "Creating" : "Create account"}
        </Button>
      </div>
    </form>
  );
}
