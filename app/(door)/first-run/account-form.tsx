"use client";
import { useState } from "react";
import type { HubStatus } from "#protocol/wire/views.ts";
import { hub } from "../../_hub/queries/client.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { useAction } from "../../_hub/actions/use-action.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { TextField } from "../../_forms/text-field.tsx";
import type { AccountErrors } from "./account-errors.ts";
import { SHORTEST_PASSWORD } from "#protocol/base/password.ts";

/** The first account. Whoever can read the hub's console holds the code; nobody else can take the hub. */
export function AccountForm({ onDone }: { onDone: (status: HubStatus) => void }) {
  const [typed, setTyped] = useState({ code: "", email: "", password: "" });
  /** What is wrong with each field, once it was asked for. */
  const [wrong, setWrong] = useState<AccountErrors>({});
  const setup = useAction((input: typeof typed) => hub.auth.setup.mutate(input));
  const set = (part: Partial<typeof typed>): void => {
    setTyped((old) => ({ ...old, ...part }));
    setWrong((old) => ({ ...old, ...Object.fromEntries(Object.keys(part).map((field) => [field, undefined])) }));
  };
  const submit = async (): Promise<void> => {
    const draft = { ...typed, code: typed.code.trim() };
    // The rules come with the parser they are written in: only when there is something to check.
    const { accountErrors } = await import("./account-errors.ts");
    const errors = accountErrors(draft);
    setWrong(errors);
    if (Object.keys(errors).length === 0) setup.run(draft, onDone);
  };
  return (
    <form
      aria-label="First account"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <TextField
        label="Setup code"
        hint="The hub printed it on its console when it started; it is good for an hour. In a container, look at its log."
        error={wrong.code}
        kind="code"
        value={typed.code}
        onChange={(value) => set({ code: value })}
      />
      <TextField
        label="E-mail"
        error={wrong.email}
        type="email"
        autoComplete="username"
        value={typed.email}
        onChange={(value) => set({ email: value })}
      />
      <TextField
        label="Password"
        hint={`At least ${SHORTEST_PASSWORD} characters.`}
        error={wrong.password}
        type="password"
        autoComplete="new-password"
        value={typed.password}
        onChange={(value) => set({ password: value })}
      />
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
