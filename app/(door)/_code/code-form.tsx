"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState, useSyncExternalStore } from "react";
import type { CodeKind } from "#protocol/fleet/people.ts";
import { hub } from "../../_hub/queries/client.ts";
import { Form, FormFault } from "../../_forms/form.tsx";
import { FaultNote } from "../../_hub/faults/fault-note.tsx";
import { statusQuery } from "../../_hub/queries/queries.ts";
import { useAction } from "../../_hub/actions/use-action.ts";
import { Button } from "../../_ui/controls/button.tsx";
import { TextField } from "../../_forms/text-field.tsx";
import { Panel } from "../../_ui/layout/panel.tsx";
import { SHORTEST_PASSWORD } from "#protocol/base/password.ts";

const WORDS: Record<CodeKind, { title: string; about: string; button: string; busy: string }> = {
  invitation: {
    title: "You were invited.",
    about: "Choose a password, and the account is yours.",
    button: "Create account",
    busy: "Creating",
  },
  reset: {
    title: "A new password.",
    about: "It ends every session of the account, wherever it is open.",
    button: "Set password",
    busy: "Setting",
  },
};

/** Returns the error of the two passwords, if any. The hub validates the rest. */
function wrongWith({ password, again }: { password: string; again: string }): { password?: string; again?: string } {
  if (password.length < SHORTEST_PASSWORD)
    return { password: `A password has at least ${SHORTEST_PASSWORD} characters.` };
  if (password !== again) return { again: "The two are not the same." };
  return {};
}

const codeInHash = (): string => window.location.hash.slice(1);

function onHashChange(tell: () => void): () => void {
  window.addEventListener("hashchange", tell);
  return () => window.removeEventListener("hashchange", tell);
}

/**
 * Shows the form behind an invitation or reset link. The code is in the URL fragment (`#`), which browsers never send
 * to a server.
 */
export function CodeForm({ kind }: { kind: CodeKind }) {
  const router = useRouter();
  const client = useQueryClient();
  /** Null during server rendering and hydration, because the server never sees the fragment. */
  const code = useSyncExternalStore<string | null>(onHashChange, codeInHash, () => null);
  const [typed, setTyped] = useState({ password: "", again: "" });
  const take = useAction((input: { code: string; password: string }) =>
    kind === "invitation" ? hub.auth.acceptInvitation.mutate(input) : hub.auth.resetPassword.mutate(input),
  );
  const words = WORDS[kind];
  const set = (part: Partial<typeof typed>): void => setTyped((old) => ({ ...old, ...part }));
  const submit = (): void => {
    if (code === null) return;
    take.run({ code, password: typed.password }, (answer) => {
      client.setQueryData(statusQuery().queryKey, answer);
      router.replace("/");
    });
  };
  return (
    <>
      <div>
        <h1 className="text-20 font-semibold tracking-[-.02em] sm:text-28">{words.title}</h1>
        {code !== "" && <p className="text-soft">{words.about}</p>}
      </div>
      {code === "" ? (
        <FaultNote fault={{ code: "CODE_REFUSED", detail: "its end is missing: copy the whole link" }} />
      ) : (
        <Panel>
          <Form label={words.title} className="px-4 py-3" errors={wrongWith(typed)} actions={[take]} onSubmit={submit}>
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
            <TextField
              label="Once more"
              path="again"
              required
              type="password"
              autoComplete="new-password"
              value={typed.again}
              onChange={(value) => set({ again: value })}
            />
            <FormFault />
            <div className="flex justify-end pt-2">
              <Button type="submit" look="main" disabled={take.busy || code === null}>
                {take.busy ? words.busy : words.button}
              </Button>
            </div>
          </Form>
        </Panel>
      )}
    </>
  );
}
