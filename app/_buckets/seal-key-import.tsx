"use client";
import { useState } from "react";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { Field } from "../_forms/field.tsx";
import { TextArea } from "../_ui/controls/text-input.tsx";
import { say } from "../_ui/feedback/toast.tsx";

interface SealKeyImportProps {
  profileId: string;
  /** True when some checkpoints open only with a key that the hub lacks. */
  wanted: boolean;
  onChanged: () => void;
}

/** Imports an encryption key that another hub exported. */
export function SealKeyImport({ profileId, wanted, onChanged }: SealKeyImportProps) {
  const [text, setText] = useState("");
  const whyNot = useWhyNot("admin");
  const take = useAction(() => hub.sealing.importKey.mutate({ profileId, text }));
  return (
    <details open={wanted ? true : undefined}>
      <summary className="w-fit py-1 text-soft hover:text-ink">Import an exported key</summary>
      <Form
        label="Import a key"
        errors={{ text: text.trim() === "" ? "Paste the exported key." : undefined }}
        actions={[take]}
        onSubmit={() =>
          take.run(undefined, () => {
            setText("");
            onChanged();
            say("quiet", "The key was imported.");
          })
        }
      >
        <Field
          label="Exported key"
          path="text"
          required
          hint="The line that begins with tidemark-key-1. For a hub that was rebuilt."
        >
          {(ids) => (
            <TextArea
              {...ids}
              kind="code"
              rows={3}
              value={text}
              disabled={whyNot !== null}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <FormFault />
        <div className="mt-1 flex justify-end">
          <Button type="submit" disabled={take.busy || whyNot !== null} title={whyNot ?? undefined}>
            Import key
          </Button>
        </div>
      </Form>
    </details>
  );
}
