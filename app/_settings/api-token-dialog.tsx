"use client";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Role } from "#protocol/wire/requests.ts";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { usePerson } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { FormEnd } from "../_forms/form-end.tsx";
import { CodeBlock } from "../_ui/layout/code-block.tsx";
import { Dialog } from "../_ui/layout/dialog.tsx";
import { Field } from "../_forms/field.tsx";
import { TextField } from "../_forms/text-field.tsx";
import { Select } from "../_ui/controls/select.tsx";
import { isRole, lastingChoices, rolesUpTo } from "./role-words.ts";

const LASTING = lastingChoices([1, 7, 30, 90, 366]);

/** Creates an API token and shows it once. */
export function ApiTokenDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const own = usePerson()?.role ?? "viewer";
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [validMs, setValidMs] = useState("7776000000");
  const make = useAction(() => hub.apiTokens.create.mutate({ name: name.trim(), role, validMs: Number(validMs) }));
  const made = make.result;
  if (made !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title="The API token is made"
        footer={
          <>
            <span className="flex-1" />
            <Button look="main" onClick={onClose}>
              Done
            </Button>
          </>
        }
      >
        <div className="flex flex-col gap-2">
          <CodeBlock text={made.token} label="API token" />
          <p className="text-soft">Programs show it to the hub like this:</p>
          <CodeBlock
            text={`curl -H "authorization: Bearer $TOKEN" ${location.origin}/api/trpc/auth.status`}
            label="example with curl"
          />
          <p className="text-12 text-faint">The token is shown only here; the hub keeps its hash.</p>
        </div>
      </Dialog>
    );
  return (
    <Dialog open onClose={onClose} title="New API token" intro="For a program of yours. It makes no other token.">
      <Form
        label="New API token"
        errors={{ name: name.trim() === "" ? "A token needs a name." : undefined }}
        actions={[make]}
        onSubmit={() => make.run(undefined, () => void client.invalidateQueries({ queryKey: ["account"] }))}
      >
        <TextField
          label="Name"
          path="name"
          required
          value={name}
          maxLength={64}
          placeholder="nightly report"
          onChange={setName}
        />
        <Field label="Role">
          {(ids) => (
            <Select
              {...ids}
              label="Role"
              value={role}
              choices={rolesUpTo(own)}
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
        <FormEnd word="Make token" busyWord="Making" busy={make.busy} onCancel={onClose} />
      </Form>
    </Dialog>
  );
}
