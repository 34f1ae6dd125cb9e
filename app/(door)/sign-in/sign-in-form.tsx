"use client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter, useSearchParams } from "next/navigation";
import { useEffect, useState } from "react";
import { hub } from "../../_hub/client.ts";
import { FaultNote } from "../../_hub/fault-note.tsx";
import { faultOf } from "../../_hub/fault-of.ts";
import { safeNext } from "../../_hub/safe-next.ts";
import { statusQuery } from "../../_hub/queries.ts";
import { useAction } from "../../_hub/use-action.ts";
import { Button } from "../../_ui/button.tsx";
import { Field, TextInput } from "../../_ui/field.tsx";
import { Panel } from "../../_ui/panel.tsx";

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
  return (
    <>
      <h1 className="text-20 font-semibold tracking-[-.02em] sm:text-28">Sign in</h1>
      {status.isError && status.data === undefined && (
        <FaultNote fault={faultOf(status.error)} onRetry={() => void status.refetch()} />
      )}
      <Panel label="Sign in">
        <form
          aria-label="Sign in"
          className="px-4 py-3"
          onSubmit={(event) => {
            event.preventDefault();
            signIn.run(typed, (answer) => client.setQueryData(statusQuery().queryKey, answer));
          }}
        >
          <Field label="E-mail">
            {(ids) => (
              <TextInput
                {...ids}
                type="email"
                autoComplete="username"
                required
                value={typed.email}
                onChange={(event) => setTyped((old) => ({ ...old, email: event.target.value }))}
              />
            )}
          </Field>
          <Field label="Password">
            {(ids) => (
              <TextInput
                {...ids}
                type="password"
                autoComplete="current-password"
                required
                value={typed.password}
                onChange={(event) => setTyped((old) => ({ ...old, password: event.target.value }))}
              />
            )}
          </Field>
          {signIn.fault !== null && (
            <div className="py-2">
              <FaultNote fault={signIn.fault} />
            </div>
          )}
          <div className="flex justify-end pt-2">
            <Button type="submit" look="main" disabled={signIn.busy}>
              {signIn.busy ? "Signing in" : "Sign in"}
            </Button>
          </div>
        </form>
      </Panel>
    </>
  );
}
