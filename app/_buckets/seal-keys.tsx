"use client";
import { useState } from "react";
import type { SealKeyView } from "#protocol/checkpoint/sealing.ts";
import { Age } from "../_hub/live/age.tsx";
import { hub } from "../_hub/queries/client.ts";
import { Form, FormFault } from "../_forms/form.tsx";
import { FaultNote } from "../_hub/faults/fault-note.tsx";
import { useWhyNot } from "../_hub/session/person.tsx";
import { useAction } from "../_hub/actions/use-action.ts";
import { Button } from "../_ui/controls/button.tsx";
import { CodeBlock } from "../_ui/layout/code-block.tsx";
import { Field } from "../_forms/field.tsx";
import { TextInput } from "../_ui/controls/text-input.tsx";
import { Tag } from "../_ui/indicators/tag.tsx";
import { visibleText } from "../_ui/text/visible-text.ts";
import { checkpointsWords } from "./sealing-words.ts";

interface SealKeysProps {
  profileId: string;
  keys: readonly SealKeyView[];
  onChanged: () => void;
}

/** Lists the encryption keys of a bucket with what each opens and whether it was exported. */
export function SealKeys({ profileId, keys, onChanged }: SealKeysProps) {
  const whyNot = useWhyNot("admin");
  const [exporting, setExporting] = useState<string | null>(null);
  const renew = useAction(() => hub.sealing.renewKey.mutate({ id: profileId }));
  if (keys.length === 0) return null;
  return (
    <section aria-label="Keys">
      <div className="flex items-center gap-2">
        <h3 className="flex-1 font-mid">Keys</h3>
        <Button
          size="small"
          disabled={renew.busy || whyNot !== null}
          title={whyNot ?? "For new checkpoints; earlier ones keep their keys"}
          onClick={() => renew.run(undefined, onChanged)}
        >
          Make a new key
        </Button>
      </div>
      {renew.fault !== null && <FaultNote fault={renew.fault} />}
      <ul aria-label="Keys" className="mt-2 divide-y divide-line rounded-2 border border-line">
        {keys.map((key) => (
          <li key={key.id} className="flex flex-col gap-2 px-3 py-2.5">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <span className="font-mono text-12">{key.fingerprint}</span>
              {key.isCurrent && <Tag tone="safe">in use</Tag>}
              <span className="nums flex-1 text-12 text-soft">
                {checkpointsWords(key.checkpoints)} · {key.isImported ? "imported" : "made"} <Age at={key.createdAt} />
              </span>
              <Button
                size="small"
                disabled={whyNot !== null}
                title={whyNot ?? undefined}
                aria-label={`Export the key ${key.fingerprint}`}
                onClick={() => setExporting(exporting === key.id ? null : key.id)}
              >
                Export…
              </Button>
            </div>
            <p className="text-12 text-soft">
              {key.exportedAt === null ? (
                <span className="text-risk">
                  It was never exported: if this hub is lost, its checkpoints cannot be decrypted.
                </span>
              ) : key.exportedBy === null ? (
                "It came from an exported copy."
              ) : (
                <>
                  Exported <Age at={key.exportedAt} /> by {visibleText(key.exportedBy)}.
                </>
              )}
            </p>
            {exporting === key.id && <Export profileId={profileId} keyId={key.id} onChanged={onChanged} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Export({ profileId, keyId, onChanged }: { profileId: string; keyId: string; onChanged: () => void }) {
  const [password, setPassword] = useState("");
  const take = useAction(() => hub.sealing.exportKey.mutate({ profileId, keyId, password }));
  if (take.result !== undefined && take.fault === null)
    return (
      <div className="flex flex-col gap-2">
        <CodeBlock text={take.result.text} label="exported key" />
        <p className="text-12 text-soft">
          Keep this line outside of the hub: in a password manager, or printed in a safe. Anyone who has it and can read
          the bucket can read every checkpoint that it decrypts. It is not shown again without the password.
        </p>
      </div>
    );
  const show = (): void =>
    take.run(undefined, () => {
      setPassword("");
      onChanged();
    });
  return (
    <Form
      label="Export the key"
      errors={{ password: password === "" ? "Enter your password." : undefined }}
      actions={[take]}
      onSubmit={show}
    >
      <Field
        label="Your password"
        path="password"
        required
        hint="Confirms that it is you. The audit records the action."
      >
        {(ids) => (
          <TextInput
            {...ids}
            type="password"
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        )}
      </Field>
      <FormFault />
      <div className="mt-1 flex justify-end">
        <Button type="submit" look="main" disabled={take.busy}>
          Show the key
        </Button>
      </div>
    </Form>
  );
}
