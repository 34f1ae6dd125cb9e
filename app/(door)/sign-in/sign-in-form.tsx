"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter, useSearchParams } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { hub } from "../../_hub/queries/client.ts";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { Form, FormFault } from "../../_forms/form.tsx";
import { faultOf } from "../../_hub/faults/fault-of.ts";
import { safeNext } from "../../_hub/session/safe-next.ts";
import { statusQuery } from "../../_hub/queries/queries.ts";
import { useAction } from "../../_hub/actions/use-action.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { TextField } from "../../_forms/text-field.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";

export function SignInForm() {
  const router = useRouter();
  const next = safeNext(useSearchParams().get("next"));
  const client = useQueryClient();
  const status = useQuery(statusQuery());
  const [typed, setTyped] = useState({ email: "", password: "" });
  const signIn = useAction((input: { email: string; password: string }) => hub.auth.signIn.mutate(input));
  const door =
    status.data === undefined
      ? null
      : status.data.needsSetup
        ? "/first-run"
        : status.data.person === null
          ? null
          : next;
  useEffect(() => {
    if (door !== null) router.replace(door);
  }, [door, router]);
  // Focuses the first field, which saves a click.
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <>
      <h1 className="text-20 font-semibold tracking-[-.02em] sm:text-28">Sign in</h1>
      {status.isError && status.data === undefined && (
        <FaultNote fault={faultOf(status.error)} onRetry={() => void status.refetch()} />
      )}
      <Panel label="Sign in">
        <Form
          label="Sign in"
          className="px-4 py-3"
          errors={{
            email: typed.email.trim() === "" ? "Enter your e-mail address." : undefined,
            password: typed.password === "" ? "Enter your password." : undefined,
          }}
          actions={[signIn]}
          onSubmit={() => signIn.run(typed, (answer) => client.setQueryData(statusQuery().queryKey, answer))}
        >
          <TextField
            label="E-mail"
            ref={first}
            path="email"
            type="email"
            autoComplete="username"
            required
            value={typed.email}
            onChange={(value) => setTyped((old) => ({ ...old, email: value }))}
          />
          <TextField
            label="Password"
            path="password"
            type="password"
            autoComplete="current-password"
            required
            value={typed.password}
            onChange={(value) => setTyped((old) => ({ ...old, password: value }))}
          />
          <FormFault />
          <div className="flex justify-end pt-2">
            <Button type="submit" look="main" disabled={signIn.busy}>
              {signIn.busy ? "Signing in" : "Sign in"}
            </Button>
          </div>
        </Form>
      </Panel>
    </>
  );
}
